import type { RewardSource } from '../source.js';
import { type RuleOptions } from './rule.js';
export interface PatternOptions extends RuleOptions {
    /** A JavaScript regular expression. */
    readonly pattern: string;
    /** Its flags, such as `i`. Default `u`. */
    readonly flags?: string;
    /** Whether the whole response should match, or a part of it (default). */
    readonly match?: 'part' | 'whole';
    /** `raw`: with special tokens. Default `response`. */
    readonly on?: 'response' | 'raw';
}
/** 1 where the response matches a regular expression, else 0. */
export declare function pattern({ name, pattern: source, flags, match, on, }: PatternOptions): RewardSource;
