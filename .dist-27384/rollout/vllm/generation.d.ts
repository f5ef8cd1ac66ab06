/** What a server is asked. Every parameter is sent: what is left out is the model's own default, not ours. */
import type { GenerationAttempt, ServerFacts } from '../remote/dialect.js';
/** Written around the prompt's ids, which are JSON already. */
export declare function generationBody(attempt: GenerationAttempt, facts: ServerFacts): {
    path: string;
    body: string;
};
