import { useEffect, useRef, useSyncExternalStore } from "react";
import uPlot from "uplot";
import { formatTick } from "@/ui/format";
import "uplot/dist/uPlot.min.css";

/** The theme's colours, which a canvas can't take from the style sheet by itself. */
export interface Colors {
  ink: string;
  line: string;
  accent: string;
  warn: string;
  bad: string;
}

/** Charts have neither a legend nor a cursor: what they show is on the page in words. */
export type PlotOptions = Omit<uPlot.Options, "width" | "height" | "legend" | "cursor">;

export interface PlotProps {
  /** What it shows, for those who can't see it; the figures themselves have to be on the page, too. */
  label: string;
  data: uPlot.AlignedData;
  /** Has to stay the same function while the chart is to stay. */
  options: (colors: Colors) => PlotOptions;
}

function subscribeToTheme(listener: () => void) {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

const currentTheme = () => document.documentElement.dataset.theme ?? "light";

function readColors(): Colors {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: read("--color-ink-3"),
    line: read("--color-line"),
    accent: read("--color-accent"),
    warn: read("--color-warn"),
    bad: read("--color-bad"),
  };
}

/** A chart of uPlot, as wide as there is room, in the colours of the theme. */
export function Plot({ label, data, options }: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const theme = useSyncExternalStore(subscribeToTheme, currentTheme);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are those of the theme.
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const size = () => ({ width: Math.max(element.clientWidth, 120), height: 220 });
    const hidden = { legend: { show: false }, cursor: { show: false } };
    const plot = new uPlot({ ...options(readColors()), ...hidden, ...size() }, data, element);
    const observer = new ResizeObserver(() => plot.setSize(size()));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [data, options, theme]);
  return <div ref={host} role="img" aria-label={label} className="min-w-0 overflow-hidden" />;
}

const marks = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });

/** The axis of amounts in a currency. */
export function amountAxis(colors: Colors, currency: string): uPlot.Axis {
  const unit = currency === "usd" ? "$" : "";
  return axis(colors, {
    size: 64,
    values: (_plot, splits) =>
      splits.map((at) => `${at < 0 ? "−" : ""}${unit}${marks.format(Math.abs(at))}`),
  });
}

export function timeAxis(colors: Colors): uPlot.Axis {
  return axis(colors, {
    space: 80,
    values: (_plot, splits, _axis, _space, step) =>
      splits.map((at) => formatTick(at * 1000, step * 1000)),
  });
}

/** How axes look everywhere. */
export function axis(colors: Colors, more: uPlot.Axis = {}): uPlot.Axis {
  return {
    stroke: colors.ink,
    font: '11px "Inter Variable", sans-serif',
    grid: { stroke: colors.line, width: 1 },
    ticks: { stroke: colors.line, width: 1, size: 4 },
    ...more,
  };
}
