/** Curves before they are drawn. */
import type { Point } from './drawing.js';
/**
 * The curve's trend: an exponential moving average over about a thirtieth of it, with the start not pulled to zero. Undefined for a curve
 * of few points. Values that are no numbers are gaps in both.
 */
export declare function smooth(points: readonly Point[]): Point[] | undefined;
/** Stretches of neighbouring points that are numbers. */
export declare function stretches(points: readonly Point[]): Point[][];
/** The same curve to the eye in at most four points for each of `columns`: its first, lowest, highest and last there. */
export declare function thin(points: readonly Point[], columns: number): Point[];
