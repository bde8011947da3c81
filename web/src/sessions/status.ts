import type { SessionStatus } from "@/gql/graphql";
import type { Tone } from "@/ui/Badge";

export const STATUS_LABELS: Record<SessionStatus, string> = {
  STARTED: "New",
  ACTIVE: "Working",
  IDLE: "Idle",
  WAITING: "Waiting",
  PAUSED: "Paused",
};

export const STATUS_TONES: Record<SessionStatus, Tone> = {
  STARTED: "neutral",
  ACTIVE: "accent",
  IDLE: "neutral",
  WAITING: "warn",
  PAUSED: "warn",
};
