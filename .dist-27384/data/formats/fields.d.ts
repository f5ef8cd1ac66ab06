import type { DataRow } from '../files/row-format.js';
/** What is wrong with a row: `field: reason; what to do`. */
export declare class RowProblem extends Error {
    readonly reason: string;
    name: string;
    constructor(message: string, reason?: string);
}
/** What our fields are called where a config does not say, in order. */
export declare const fieldColumns: {
    readonly messages: readonly ["messages", "conversations", "conversation"];
    readonly prompt: readonly ["prompt", "instruction", "input"];
    readonly completion: readonly ["completion", "response", "output"];
    readonly text: readonly ["text"];
    readonly chosen: readonly ["chosen"];
    readonly rejected: readonly ["rejected"];
    readonly responses: readonly ["responses"];
    readonly rankings: readonly ["rankings", "ranking", "ranks"];
    readonly scores: readonly ["scores"];
    readonly margin: readonly ["margin"];
    readonly desirable: readonly ["desirable", "label"];
    readonly label: readonly ["label", "extra_info.label"];
    readonly reference: readonly ["reference", "reward_model.ground_truth", "ground_truth", "extra_info.reference"];
    readonly tools: readonly ["tools"];
};
/** Columns of an answer, where a row has one. */
export declare const answerColumns: readonly string[];
export type FieldName = keyof typeof fieldColumns;
/** Names on the left of a mapping are ours; anything else would be read by nobody. */
export declare function checkColumns(columns: Readonly<Record<string, string>>): void;
export interface FieldOptions {
    /** Our names to theirs. */
    readonly columns: Readonly<Record<string, string>>;
    /** `cells`: values are text, and lists, numbers and booleans are JSON in them. */
    readonly values: 'typed' | 'cells';
}
export declare class RowFields {
    #private;
    readonly row: DataRow;
    readonly options: FieldOptions;
    constructor(row: DataRow, options: FieldOptions);
    /** Whether the config names the columns, so that others are not guessed at. */
    get mapped(): readonly string[];
    has(name: FieldName): boolean;
    /** A column and its value, which is undefined where there is none; null counts as none. */
    find(name: FieldName): {
        column: string;
        value: unknown;
    };
    /** As `find`, where it has to be there. */
    need(name: FieldName): {
        column: string;
        value: unknown;
    };
    text(name: FieldName): string;
    list(name: FieldName): {
        column: string;
        value: unknown[];
    };
    numbers(name: FieldName): {
        column: string;
        value: number[];
    };
    number(name: FieldName): number;
    boolean(name: FieldName): boolean;
    /** A text as it is; in a cell, a list of messages or other objects as JSON. */
    textOrList(name: FieldName): {
        column: string;
        value: unknown;
    };
}
export declare function expected(field: string, what: string, got: unknown): RowProblem;
/** A column of that very name, else the way through objects that its dots are. */
export declare function lookUp(row: DataRow, name: string): unknown;
