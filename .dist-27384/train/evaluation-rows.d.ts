import type { ExampleSet } from '../data/index.js';
/** The rows of a validation set in parts; a set none of whose rows can be used is an error, not a mean of nothing. */
export declare function evaluationRows<E>(validation: ExampleSet<E>): AsyncGenerator<readonly E[], void>;
