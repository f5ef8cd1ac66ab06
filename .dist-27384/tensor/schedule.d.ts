/**
 * How the learning rate moves over a run, as a multiple of its peak. Steps count from 0, the step before the first update, so with
 * warm-up the first update has rate 0: the convention of transformers' `get_scheduler`, whose numbers these are.
 */
export type ScheduleOptions = {
    readonly kind: 'constant';
    /** Updates over which the rate rises linearly from 0 to the peak; 0 starts at the peak. */
    readonly warmupSteps: number;
} | {
    /** Falls in a straight line (`linear`) or along half a cosine wave (`cosine`) from the peak to the floor. */
    readonly kind: 'linear' | 'cosine';
    /** Updates over which the rate rises linearly from 0 to the peak; 0 starts at the peak. */
    readonly warmupSteps: number;
    /** Updates until the floor is reached, warm-up included. The rate stays at the floor afterwards. */
    readonly totalSteps: number;
    /** Where the fall ends, as a fraction of the peak. Default 0. Warm-up still begins at 0. */
    readonly floor?: number;
};
/** The fraction of the peak learning rate to use at a step. */
export type Schedule = (step: number) => number;
/**
 * Builds a schedule; options that make no sense are a `RangeError` here, before any training.
 *
 * @example
 * const schedule = createSchedule({ kind: 'cosine', warmupSteps: 100, totalSteps: 5000, floor: 0.1 })
 * const rate = 3e-5 * schedule(step)
 */
export declare function createSchedule(options: ScheduleOptions): Schedule;
