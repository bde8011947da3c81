/** What the address of the webhooks holds: the one whose deliveries are shown. */
export interface WebhooksSearch {
  webhook?: string;
}

export function webhooksSearch({ webhook }: Record<string, unknown>): WebhooksSearch {
  return typeof webhook === "string" && webhook !== "" ? { webhook } : {};
}
