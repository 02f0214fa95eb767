import type { TestApi } from "./api.js";
import { type Duration, formatDuration, toMilliseconds } from "./duration.js";

/** The state of a world's clock. */
export interface ClockState {
  /** The time of the world. */
  now: Date;
  /** Seconds of the world per real second. */
  rate: number;
  /** Whether the clock stands still. */
  frozen: boolean;
}

/** The part of a Playwright page that moves the clock of the browser. */
export interface PageWithClock {
  clock: {
    install(options?: { time?: number | string | Date }): Promise<void>;
    fastForward(ticks: number | string): Promise<void>;
    setSystemTime(time: number | string | Date): Promise<void>;
    setFixedTime(time: number | string | Date): Promise<void>;
  };
}

/** What else follows a change of the clock. */
export interface ClockOptions {
  /** A Playwright page whose clock changes, too. Its timers are those that were set after the first change. */
  page?: PageWithClock | undefined;
}

interface ClockAnswer {
  now: string;
  rate: number;
  frozen: boolean;
}

/** The virtual clock of a world: tokens, codes, limits and background jobs follow it. */
export class WorldClock {
  constructor(private readonly api: TestApi) {}

  /** Returns the time of the world. */
  async now(): Promise<Date> {
    return (await this.state()).now;
  }

  /** Returns time, rate and whether the clock stands still. */
  async state(): Promise<ClockState> {
    return toState(await this.api.call<ClockAnswer>("GET", "/clock"));
  }

  /** Adds to the time: `advance("61m")`; a number is milliseconds, as in every language. */
  async advance(length: Duration, options: ClockOptions = {}): Promise<ClockState> {
    const milliseconds = toMilliseconds(length);
    const state = await this.change({ advance: formatDuration(length) });
    if (milliseconds >= 0) await options.page?.clock.fastForward(milliseconds);
    else await options.page?.clock.setSystemTime(state.now);
    return state;
  }

  /** Sets the time. */
  async set(time: Date | string, options: ClockOptions = {}): Promise<ClockState> {
    const state = await this.change({ at: formatTime(time) });
    await options.page?.clock.setSystemTime(state.now);
    return state;
  }

  /** Stops the clock, at a time if one is given. */
  async freeze(time?: Date | string, options: ClockOptions = {}): Promise<ClockState> {
    const at = time === undefined ? {} : { at: formatTime(time) };
    const state = await this.change({ ...at, freeze: true });
    await options.page?.clock.setFixedTime(state.now);
    return state;
  }

  /** Lets a stopped clock go on. */
  async unfreeze(): Promise<ClockState> {
    return await this.change({ freeze: false });
  }

  /** Sets how many seconds pass per real second. */
  async rate(rate: number): Promise<ClockState> {
    return await this.change({ rate });
  }

  /** Returns to real time. */
  async reset(options: ClockOptions = {}): Promise<ClockState> {
    const state = toState(await this.api.call<ClockAnswer>("DELETE", "/clock"));
    await options.page?.clock.setSystemTime(state.now);
    return state;
  }

  private async change(body: Record<string, unknown>): Promise<ClockState> {
    return toState(await this.api.call<ClockAnswer>("POST", "/clock", { body }));
  }
}

function toState({ now, rate, frozen }: ClockAnswer): ClockState {
  return { now: new Date(now), rate, frozen };
}

function formatTime(time: Date | string): string {
  return typeof time === "string" ? time : time.toISOString();
}
