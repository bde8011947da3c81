import type { ReactNode } from "react";
import { classes } from "./classes";

export type Tone = "neutral" | "accent" | "ok" | "warn" | "bad";

const SOFT: Record<Tone, string> = {
  neutral: "bg-hover text-ink-2",
  accent: "bg-accent-soft text-accent",
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
};

const DOT: Record<Tone, string> = {
  neutral: "bg-line-strong",
  accent: "bg-accent",
  ok: "bg-ok",
  warn: "bg-warn",
  bad: "bg-bad",
};

interface BadgeProps {
  tone?: Tone;
  title?: string;
  children: ReactNode;
}

export function Badge({ tone = "neutral", title, children }: BadgeProps) {
  return (
    <span
      title={title}
      className={classes(
        "inline-flex items-center gap-1 rounded px-1.5 text-2xs leading-5 font-medium whitespace-nowrap",
        SOFT[tone],
      )}
    >
      {children}
    </span>
  );
}

export function Dot({ tone, pulse }: { tone: Tone; pulse?: boolean }) {
  return (
    <span
      aria-hidden
      className={classes(
        "inline-block size-1.75 shrink-0 rounded-full",
        DOT[tone],
        pulse && "animate-pulse-soft",
      )}
    />
  );
}
