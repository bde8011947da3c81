import type { Delivery } from "@/gql/graphql";
import { classes } from "@/ui/classes";

const DELIVERIES: { delivery: Delivery; label: string; hint: string }[] = [
  { delivery: "STEER", label: "Steer", hint: "The agent reads it before its next step" },
  { delivery: "QUEUE", label: "Queue", hint: "Runs as its own turn after this one" },
  { delivery: "INTERRUPT", label: "Interrupt", hint: "Stops this turn and runs next" },
];

interface DeliveryChoiceProps {
  value: Delivery;
  onChange: (delivery: Delivery) => void;
}

/** How a message meets the work under way. */
export function DeliveryChoice({ value, onChange }: DeliveryChoiceProps) {
  return (
    <fieldset className="flex min-w-0 rounded-md bg-hover p-0.5">
      <legend className="sr-only">Delivery</legend>
      {DELIVERIES.map(({ delivery, label, hint }) => (
        <label
          key={delivery}
          title={hint}
          className={classes(
            "cursor-pointer rounded px-1.5 py-0.5 text-xs has-focus-visible:outline-2 has-focus-visible:outline-accent sm:px-2",
            value === delivery ? "bg-raised font-medium shadow-card" : "text-ink-2",
          )}
        >
          <input
            type="radio"
            name="delivery"
            className="sr-only"
            checked={value === delivery}
            onChange={() => onChange(delivery)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
