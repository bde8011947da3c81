import { Check } from "lucide-react";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";

const ToastContext = createContext<(text: string) => void>(() => {});

/** Says for some seconds that something is done. What failed is said where it failed, and stays. */
export function useToast(): (text: string) => void {
  return useContext(ToastContext);
}

const SHOWN_MS = 5000;

/** The one place for toasts. The newest replaces the one before. */
export function Toasts({ children }: { children: ReactNode }) {
  const [toast, setToast] = useState<{ text: string } | null>(null);
  const [say] = useState(() => (text: string) => setToast({ text }));
  useEffect(() => {
    if (toast === null) return;
    const timer = setTimeout(() => setToast(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [toast]);
  return (
    <ToastContext value={say}>
      {children}
      <div
        aria-live="polite"
        className="pointer-events-none fixed inset-x-0 bottom-4 z-50 flex justify-center px-4"
      >
        {toast && (
          <p
            data-toast
            className="flex items-center gap-2 rounded-lg border border-line bg-raised px-3.5 py-2 text-sm shadow-pop"
          >
            <Check size={15} className="text-ok" aria-hidden />
            {toast.text}
          </p>
        )}
      </div>
    </ToastContext>
  );
}
