import { completionsAnswer, completionsReader, quickTokensAnswer, tokensAnswer, tokensReader } from './answers.js';
import * as control from './control.js';
import { generationBody } from './generation.js';
import { inspect, probe } from './probe.js';
import { refusal } from './refusal.js';
export function vllmDialect({ model } = {}) {
    return {
        type: 'vllm',
        inspect: server => inspect(server, model),
        probe: server => probe(server, model),
        generation: generationBody,
        answer: (body, attempt, facts) => facts.route === 'tokens' ? tokensAnswer(body, attempt) : completionsAnswer(body, attempt),
        quickAnswer: (text, attempt, facts) => (facts.route === 'tokens' ? quickTokensAnswer(text, attempt) : undefined),
        reader: (attempt, facts) => (facts.route === 'tokens' ? tokensReader(attempt) : completionsReader(attempt)),
        refusal,
        ...control,
    };
}
//# sourceMappingURL=dialect.js.map