import fc from "fast-check";
import { expect, it } from "vitest";
import { between, fitTo, pan, type View, zoomAt } from "./zoom";

const AXIS = 10_000;

it("keeps what is under the pointer where it is", () => {
  expect(zoomAt(null, 0.5, 0.2, AXIS)).toEqual({ from: 1000, to: 6000 });
  expect(zoomAt({ from: 1000, to: 6000 }, 0.5, 1, AXIS)).toEqual({ from: 3500, to: 6000 });
  expect(zoomAt({ from: 1000, to: 6000 }, 2, 0.2, AXIS)).toBeNull();
});

it("moves, and stops at the ends", () => {
  expect(pan({ from: 1000, to: 2000 }, 0.5, AXIS)).toEqual({ from: 1500, to: 2500 });
  expect(pan({ from: 1000, to: 2000 }, -5, AXIS)).toEqual({ from: 0, to: 1000 });
  expect(pan({ from: 1000, to: 2000 }, 50, AXIS)).toEqual({ from: 9000, to: AXIS });
  expect(pan(null, 0.5, AXIS)).toBeNull();
});

it("fits a call with some room, and shows what was brushed in either direction", () => {
  expect(fitTo(2000, 3000, AXIS)).toEqual({ from: 1950, to: 3050 });
  expect(fitTo(0, AXIS, AXIS)).toBeNull();
  expect(between(3000, 2000, AXIS)).toEqual({ from: 2000, to: 3000 });
  expect(between(-500, 20_000, AXIS)).toBeNull();
});

it("never leaves the axis, and never shows nothing", () => {
  const moves = fc.array(
    fc.record({
      factor: fc.double({ min: 0.01, max: 4, noNaN: true }),
      place: fc.double({ min: 0, max: 1, noNaN: true }),
      share: fc.double({ min: -3, max: 3, noNaN: true }),
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), moves, (axis, list) => {
      let view: View | null = null;
      for (const { factor, place, share } of list) {
        view = pan(zoomAt(view, factor, place, axis), share, axis);
        if (view === null) continue;
        expect(view.from).toBeGreaterThanOrEqual(0);
        expect(view.to).toBeLessThanOrEqual(axis + 1e-6);
        expect(view.to - view.from).toBeGreaterThan(9.99);
      }
    }),
  );
});
