import { WhetstoneError } from '../errors/index.js';
/** A training that cannot go on; the weights are those of the last step. */
export declare class TrainingError extends WhetstoneError {
    name: string;
}
/** A row of a dataset or a sample, as errors and the journal name it. */
export interface TrainingRow {
    /** File and line. */
    readonly where: string;
    readonly rowId: string;
}
/**
 * Runs work of a model on sequences made of rows, `sequencesPerRow` of each, and gives what is not finite the name of its row.
 * Losses refuse numbers that overflow with a `RangeError` that names the sample: it becomes an error for people too.
 */
export declare function namingRows<T>(rows: readonly TrainingRow[], sequencesPerRow: number, work: () => Promise<T>): Promise<T>;
