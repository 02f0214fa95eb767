import { type PointerEvent, useEffect, useRef, useState } from "react";
import { formatCount } from "../format/format.ts";
import { labelledPositions, ticksOf } from "./scale.ts";

/** One bar. */
export interface Bar {
  /** The short form below the axis, and the full form in the line above the chart. */
  label: string;
  title: string;
  value: number;
}

interface BarChartProps {
  /** The content of the chart in one sentence; a table beside it has the values. */
  summary: string;
  bars: readonly Bar[];
  /** The line above the chart while no bar is pointed at. */
  caption: string;
  unit: string;
}

const HEIGHT = 240;
const BOTTOM = 26;
const TOP = 8;
const LEFT = 44;
/** The width of a label below the axis, in pixels. */
const LABEL_WIDTH = 64;

/** A chart of counts. Pointing at a bar shows its value. */
export function BarChart({ summary, bars, caption, unit }: BarChartProps) {
  const [frame, width] = useWidth();
  const [pointed, setPointed] = useState<number>();
  const ticks = ticksOf(Math.max(0, ...bars.map(({ value }) => value)));
  const top = ticks.at(-1) ?? 1;
  const inner = Math.max(0, width - LEFT);
  const slot = inner / Math.max(1, bars.length);
  const gap = slot > 6 ? Math.min(8, slot * 0.28) : slot * 0.15;
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  const shown = pointed === undefined ? undefined : bars[pointed];

  function onPointerMove(event: PointerEvent<SVGSVGElement>): void {
    const offset = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT;
    const position = Math.floor(offset / slot);
    setPointed(position >= 0 && position < bars.length ? position : undefined);
  }

  return (
    <div ref={frame}>
      <p className="mb-3 min-h-6 text-small text-ink-soft">
        {shown ? (
          <>
            <span className="font-strong text-ink">
              {formatCount(shown.value)} {unit}
            </span>{" "}
            · {shown.title}
          </>
        ) : (
          caption
        )}
      </p>
      <svg
        role="img"
        aria-label={summary}
        width={width}
        height={HEIGHT}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setPointed(undefined)}
        className="block touch-pan-y"
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} className="stroke-line" />
            <text
              x={LEFT - 10}
              y={y(tick)}
              dy="0.32em"
              textAnchor="end"
              className="fill-ink-soft text-note"
            >
              {formatCount(tick)}
            </text>
          </g>
        ))}
        {bars.map(({ label, value }, position) => (
          <rect
            key={label + position.toString()}
            x={LEFT + position * slot + gap / 2}
            width={Math.max(1, slot - gap)}
            y={y(value)}
            height={Math.max(0, y(0) - y(value))}
            rx={Math.min(2, slot / 6)}
            className={
              pointed === undefined || pointed === position ? "fill-chart" : "fill-chart/45"
            }
          />
        ))}
        {labelledPositions(bars.length, inner / LABEL_WIDTH).map((position) => (
          <text
            key={position}
            x={LEFT + (position + 0.5) * slot}
            y={HEIGHT - 6}
            textAnchor="middle"
            className="fill-ink-soft text-note"
          >
            {bars[position]?.label}
          </text>
        ))}
      </svg>
    </div>
  );
}

/** Returns an element's width as it is on the screen. */
function useWidth() {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width] as const;
}
