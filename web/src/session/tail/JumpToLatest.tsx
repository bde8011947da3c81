import { ArrowDown } from "lucide-react";
import { Button } from "@/ui/Button";

export function JumpToLatest({ onClick }: { onClick: () => void }) {
  return (
    <div className="relative z-10 h-0">
      <div className="absolute inset-x-0 -top-11 flex justify-center">
        <Button onClick={onClick} className="rounded-full shadow-pop">
          <ArrowDown size={14} aria-hidden />
          Jump to latest
        </Button>
      </div>
    </div>
  );
}
