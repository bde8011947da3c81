import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import Markdown from "./Markdown";

const html = (text: string) => renderToStaticMarkup(<Markdown text={text} />);

it("renders GitHub's tables and task lists", () => {
  expect(html("| a |\n| - |\n| b |")).toContain("<td>b</td>");
  expect(html("- [x] done")).toContain('type="checkbox"');
});

it("shows HTML as text", () => {
  const shown = html('<script>alert(1)</script> <img src=x onerror="alert(1)">');
  expect(shown).not.toContain("<script");
  expect(shown).not.toContain("<img");
});

it("takes the address from links that could run code", () => {
  expect(html("[x](javascript:alert(1))")).not.toContain("javascript:");
  expect(html("[x](https://example.com)")).toContain('rel="noopener noreferrer nofollow"');
});

it("contacts nobody for pictures", () => {
  expect(html("![chart](https://example.com/a.png)")).not.toContain("<img");
});
