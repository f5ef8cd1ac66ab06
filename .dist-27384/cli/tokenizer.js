import { z } from 'zod';
import { count, reportFor } from '../progress/index.js';
import { MIN_VOCAB_SIZE, trainTokenizer } from '../text/index.js';
import { directory, flagHelp, integer, readArguments, text, UsageError } from './flags.js';
import { interruptible } from './interrupt.js';
const input = text('FILE', '.txt, .md or .jsonl (every string of every row); several, or given several times', 'a file');
const flags = z.object({
    input: z.array(input, { error: 'expected at least one file' }).meta(input.meta()),
    vocabSize: integer(`tokens in all, at least ${MIN_VOCAB_SIZE}; fewer come out when the text has no more pairs to merge`, { min: MIN_VOCAB_SIZE }),
    out: directory('directory to make; must not exist or be empty'),
    minFrequency: integer('merge only pairs seen at least this often', { min: 1 }).default(2),
});
export const help = `Usage: whetstone tokenizer train --input FILE... --vocab-size N --out DIR [--min-frequency N]

Makes a small byte-level BPE tokenizer with chat tokens and a ChatML template: tokenizer.json, tokenizer_config.json and
chat_template.jinja, which transformers' AutoTokenizer loads too.

${flagHelp(flags)}
`;
export async function run(args) {
    const { flags: given, positionals } = readArguments(actionFirst(args), flags, { positionals: 'keep' });
    const { input, ...options } = given;
    // What a shell makes of `--input *.txt` arrives as one option and some positionals.
    const files = [...input, ...positionals];
    const report = reportFor(process.env);
    return interruptible({
        work: async (signal) => {
            const progress = showProgress(report);
            const trained = await trainTokenizer({ ...options, files, signal, onProgress: progress.show }).finally(progress.end);
            const short = trained.vocabSize < options.vocabSize ? ` (the text has no more pairs to merge)` : '';
            console.log(`${trained.dir}: ${trained.vocabSize} tokens from ${trained.characters} characters${short}`);
        },
        onInterrupt: () => report.line(`Interrupted. ${options.out} was not written.`),
    });
}
function actionFirst([action, ...rest]) {
    if (action === 'train')
        return rest;
    throw new UsageError(action === undefined || action.startsWith('-') ? 'expected an action: train' : `unknown action "${action}"`);
}
function showProgress(report) {
    const reading = report.transfer('reading', count('characters', 1e8));
    const merging = report.transfer('merging', count('tokens', 10_000));
    return {
        show: progress => {
            if (progress.stage === 'reading')
                reading.at(progress.characters);
            else
                merging.at(progress.vocabSize, progress.of);
        },
        end: () => merging.end(),
    };
}
//# sourceMappingURL=tokenizer.js.map