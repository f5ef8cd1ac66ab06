import type { Tokenizer } from './tokenizer.js';
import type { TemplateFile } from './tokenizer-files.js';
/** Values of `chatTemplate` that name no file. */
export declare const chatTemplateWords: readonly ['auto', 'none', 'chatml'];
/** What is left of `chatTemplate` where a tokenizer is loaded already: whether text prompts are user turns. */
export declare const templateUse: (chatTemplate: string) => 'auto' | 'none';
/** The template for a tokenizer whose special tokens are known; `firstId`: what it puts before a text itself. */
type GivenTemplate = (tokenizer: Tokenizer, firstId: number | undefined) => TemplateFile;
/** What `chatTemplate` names; undefined where the tokenizer's own is meant. */
export declare function givenTemplate(name: string | undefined): Promise<GivenTemplate | undefined>;
export {};
