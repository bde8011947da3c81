import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { PaymentToApprove } from "./PaymentToApprove";

it("shows the exact amount, who is paid and what for", () => {
  const shown = renderToStaticMarkup(
    <PaymentToApprove
      payment={{
        amount: "12.500000001",
        currency: "usd",
        host: "books.example.com",
        purpose: "The <b>third</b> volume",
      }}
    />,
  );
  for (const text of [
    "$12.500000001",
    "books.example.com",
    "The &lt;b&gt;third&lt;/b&gt; volume",
  ]) {
    expect(shown).toContain(text);
  }
});
