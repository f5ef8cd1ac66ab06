import type { RowFormat } from './row-format.js';
/** Cells of a record, with or without the line end behind it; or what is wrong with it. */
export declare function csvCells(record: string, separator?: string): string[] | string;
/** The first record names the columns. */
export declare function csv(file: string, separator?: string): RowFormat;
