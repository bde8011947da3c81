import { describe, expect, it } from "vitest";
import { columnsOf, sortedBy, sortingOf, USUAL_COLUMNS, withColumn } from "./columns";

const keys = (text: string) => columnsOf(text).map(({ key }) => key);

describe("columns", () => {
  it("are shown in their own order, and unknown ones not at all", () => {
    expect(keys("cost,agent,nonsense")).toEqual(["agent", "cost"]);
    expect(keys("none")).toEqual([]);
  });
  it("are added and removed", () => {
    expect(withColumn("agent,cost", "tags", true)).toBe("agent,tags,cost");
    expect(withColumn("agent,cost", "agent", false)).toBe("cost");
    expect(withColumn("cost", "cost", false)).toBe("none");
    expect(withColumn(withColumn(USUAL_COLUMNS, "cost", false), "cost", true)).toBe(USUAL_COLUMNS);
  });
  it("show at first what the list is sorted by at first", () => {
    expect(columnsOf(USUAL_COLUMNS).map(({ sort }) => sort)).toContain(sortingOf({}).sort);
  });
  it("sort by the largest first, then by the smallest", () => {
    expect(sortedBy({}, "cost")).toEqual({ sort: "cost", asc: undefined });
    expect(sortedBy({ sort: "cost" }, "cost")).toEqual({ sort: "cost", asc: true });
    expect(sortedBy({ sort: "cost", asc: true }, "cost")).toEqual({ sort: "cost", asc: undefined });
    expect(sortedBy({ sort: "cost", asc: true }, "activity")).toEqual({
      sort: "activity",
      asc: undefined,
    });
    expect(sortedBy({}, "created")).toEqual({ sort: undefined, asc: true });
  });
});
