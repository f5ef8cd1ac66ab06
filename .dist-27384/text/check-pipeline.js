/**
 * What the library cannot survive in a `tokenizer.json` is found before the library sees it: its panics end the process, whatever
 * a caller catches. What it refuses by itself with an error (a wrong type, an unknown component, a token that a merge needs)
 * is left to it. Every rule here is a panic that was seen.
 */
import { z } from 'zod';
import { isSoundCharsmap } from './charsmap.js';
import { TokenizerError } from './errors.js';
import { isObject } from './json.js';
/** Sequences in sequences; real files have one or two. */
const deepest = 16;
const pattern = z.looseObject({
    String: z.string().min(1, 'expected a text that is not empty').optional(),
    Regex: z.string().min(1, 'expected an expression that is not empty').optional(),
});
/** By kind of component and type; a type that is not here needs no check. */
const components = {
    normalizer: {
        Prepend: z.looseObject({ prepend: z.string().min(1, 'expected a text that is not empty') }),
        Replace: z.looseObject({ pattern }),
        Precompiled: z.looseObject({
            precompiled_charsmap: z.string().refine(isSoundCharsmap, 'expected a map of characters that is whole'),
        }),
    },
    pre_tokenizer: {
        FixedLength: z.looseObject({ length: z.int().min(1, 'expected at least 1') }),
        Split: z.looseObject({ pattern }),
    },
    decoder: {
        Replace: z.looseObject({ pattern }),
        Strip: z.looseObject({ stop: z.literal(0, 'expected 0: stripping the end of tokens is not supported') }),
    },
    post_processor: {
        TemplateProcessing: z
            .looseObject({
            single: z.array(z.unknown()),
            pair: z.array(z.unknown()),
            special_tokens: z.record(z.string(), z.unknown()),
        })
            .superRefine((template, context) => {
            for (const name of ['single', 'pair'])
                for (const [i, piece] of template[name].entries()) {
                    const problem = pieceProblem(piece, name, template.special_tokens);
                    if (problem)
                        context.addIssue({ code: 'custom', path: [name, i], message: problem });
                }
        }),
    },
};
/** Where a component keeps the parts of a `Sequence`. */
const partsOf = {
    normalizer: 'normalizers',
    pre_tokenizer: 'pretokenizers',
    decoder: 'decoders',
    post_processor: 'processors',
};
/** Throws a {@link TokenizerError} that names the file and the place in it. */
export function checkPipeline(path, tokenizer) {
    const fail = (place, problem) => {
        throw new TokenizerError(`${path}: ${place}: ${problem}`);
    };
    const check = (kind, value, place, depth) => {
        if (!isObject(value))
            return;
        if (depth > deepest)
            fail(place, `sequences in sequences, more than ${deepest} deep`);
        const parts = value[partsOf[kind]];
        if (Array.isArray(parts))
            for (const [i, part] of parts.entries())
                check(kind, part, `${place}[${i}]`, depth + 1);
        const schema = typeof value.type === 'string' ? components[kind][value.type] : undefined;
        const issue = schema?.safeParse(value).error?.issues[0];
        if (issue)
            fail([place, ...issue.path.map(String)].join('.'), issue.message);
    };
    for (const kind of Object.keys(components))
        check(kind, tokenizer[kind], kind, 0);
    const problem = mergesProblem(tokenizer.model);
    if (problem)
        fail('model.merges', problem);
}
function pieceProblem(piece, name, special) {
    if (!isObject(piece))
        return undefined;
    const { SpecialToken: token, Sequence: sequence } = piece;
    if (isObject(token) && !(typeof token.id === 'string' && Object.hasOwn(special, token.id)))
        return `special_tokens has no ${JSON.stringify(token.id)}`;
    if (name === 'single' && isObject(sequence) && sequence.id !== 'A')
        return 'expected the sequence A: there is one text';
    return undefined;
}
/** Where tokens inside a word begin with a prefix, the library cuts it off the right side of a merge without looking. */
function mergesProblem(model) {
    if (!isObject(model) || !Array.isArray(model.merges))
        return undefined;
    const prefix = model.continuing_subword_prefix;
    if (typeof prefix !== 'string' || prefix === '')
        return undefined;
    for (const [i, merge] of model.merges.entries()) {
        const right = Array.isArray(merge) ? merge[1] : typeof merge === 'string' ? merge.split(' ')[1] : undefined;
        if (typeof right === 'string' && !right.startsWith(prefix))
            return `merge ${i}: ${JSON.stringify(right)} does not begin with the prefix ${JSON.stringify(prefix)}`;
    }
    return undefined;
}
//# sourceMappingURL=check-pipeline.js.map