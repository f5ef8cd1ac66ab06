import { LocalEngine } from '../rollout/index.js';
import { evaluateSft, loadFrozen, silentReport } from '../train/index.js';
import { generateAnswers } from './answers.js';
import { resolveEvaluation, temperatureOf } from './options.js';
import { answersWanted, prepareEvaluation } from './prepare.js';
import { scoreAnswers } from './rewards.js';
import { answerRecords, countAnswers, rewardsOf, summarizeAnswers } from './summarize.js';
import { winRate } from './win-rate.js';
/**
 * Measures a model, and another one beside it. The same options give the same numbers. Models are on the device one after the other,
 * a reward model that is given as a directory last.
 *
 * @example
 * const { evaluation } = await evaluateModel({ model: 'runs/rl/final_model', data: 'test.jsonl', reward: 'reward.ts' })
 * console.log(evaluation.model.rewards?.reward?.mean, evaluation.model.accuracy?.value)
 */
export async function evaluateModel(options) {
    const { report = silentReport, signal = new AbortController().signal, ...rest } = options;
    const config = resolveEvaluation({ ...rest });
    const prepared = await prepareEvaluation(config, signal);
    try {
        const context = { config, prepared, report, signal };
        const measured = [];
        for (const model of prepared.models)
            measured.push(await measureModel(model, context));
        const answered = await scoreAll(measured, context);
        const results = measured.map((one, i) => resultOf(one, answered[i], context));
        const [model, reference] = results;
        const won = prepared.measured.has('winRate') ? compare(answered[0], answered[1]) : undefined;
        const evaluation = {
            model: model,
            ...(reference ? { reference } : {}),
            ...(won ? { winRate: won } : {}),
            leftOut: prepared.leftOut,
            settings: settingsOf(context),
        };
        return {
            evaluation,
            answers: { model: answerRecords(answered[0]), reference: answerRecords(answered[1] ?? []) },
        };
    }
    finally {
        await prepared.close();
    }
}
async function measureModel(prepared, context) {
    const { config, report, signal, prepared: evaluation } = context;
    const { directory, adapter, conversations, name } = prepared;
    const { device } = config;
    const what = name === 'model' ? 'the model' : 'the reference';
    const settings = { device, adapter, gradientCheckpointing: false, seed: 0, role: 'language', what };
    const model = await loadFrozen(directory, settings, { report, signal });
    try {
        if (adapter !== undefined)
            await model.mergeAdapter();
        const measures = evaluation.measured;
        const perplexity = conversations && measures.has('perplexity') ? await perplexityOf(model, conversations, context) : undefined;
        const answers = answersWanted(measures) ? await answersOf(model, prepared, context) : undefined;
        return { prepared, perplexity, answers };
    }
    finally {
        model.dispose();
    }
}
const units = (plural) => ({
    show: (amount) => `${Math.round(amount).toLocaleString('en')} ${plural}`,
    large: 100,
});
async function perplexityOf(model, conversations, { report, signal }) {
    const progress = report.transfer('perplexity', units('rows'));
    let rows = 0;
    const watched = {
        ...{ size: conversations.size, counts: conversations.counts },
        async *parts() {
            // Small parts, so that a bar moves and Ctrl-C is heard soon.
            for await (const part of conversations.parts(32)) {
                yield part;
                rows += part.length;
                progress.at(rows, conversations.size);
            }
        },
    };
    try {
        const found = await evaluateSft({ model, validation: watched, packing: 'on', signal });
        return {
            value: found['validation/perplexity'],
            loss: found['loss/validation'],
            rows,
            truncated: conversations.counts.truncated,
        };
    }
    finally {
        progress.end();
    }
}
async function answersOf(model, { tokenizer, prompts = [], name }, { config: { samples }, prepared: { sampling }, report, signal }) {
    const generator = new LocalEngine(model, { tokenizer });
    const progress = report.transfer(name === 'model' ? 'answering' : 'answering (reference)', units('answers'));
    const total = prompts.length * samples;
    const onAnswered = (count) => progress.at(count, total);
    try {
        return await generateAnswers({ generator, tokenizer, prompts, samples, sampling, signal, onAnswered });
    }
    finally {
        progress.end();
        await generator.close();
    }
}
/** The rewards of all models' answers, model by model. */
async function scoreAll(measured, { prepared: { rewards, measured: metrics }, report, signal }) {
    const wanted = ['reward', 'accuracy', 'winRate'].some(metric => metrics.has(metric));
    const engine = rewards && wanted ? await rewards.open({ report, signal }) : undefined;
    const progress = report.transfer('rewards', units('answers'));
    const all = [];
    const total = measured.reduce((sum, { answers }) => sum + inputsOf(answers).length, 0);
    let before = 0;
    try {
        for (const { prepared, answers } of measured) {
            const inputs = inputsOf(answers);
            const onScored = (count) => progress.at(before + count, total);
            const outcomes = engine ? await scoreAnswers(engine, inputs, { signal, onScored }) : [];
            const outcomeOf = new Map(outcomes.map((outcome, i) => [inputs[i], outcome]));
            all.push((prepared.prompts ?? []).map((prompt, i) => ({
                prompt,
                answers: (answers?.inputs[i] ?? []).map(input => ({ input, outcome: outcomeOf.get(input) })),
            })));
            before += inputs.length;
        }
        return all;
    }
    finally {
        progress.end();
    }
}
const inputsOf = (answers) => (answers?.inputs ?? []).flat();
function resultOf({ prepared: { directory, overlong }, perplexity, answers }, answered, { config, prepared: { measured } }) {
    const { samples, correctAt = 1, bleuTokenizer } = config;
    return {
        directory,
        ...(perplexity ? { perplexity } : {}),
        ...(answers ? { answers: countAnswers(answered, { unanswered: answers.unanswered, overlong }) } : {}),
        ...summarizeAnswers(answered, { measured, samples, correctAt, bleuTokenizer }),
    };
}
/** By row: models of different tokenizers may each have left out other prompts. */
function compare(model, reference) {
    const others = new Map(reference.map(one => [one.prompt.rowId, one]));
    const duels = model.flatMap(one => {
        const other = others.get(one.prompt.rowId);
        return other ? [{ rewards: rewardsOf(one), otherRewards: rewardsOf(other) }] : [];
    });
    return winRate(duels);
}
function settingsOf({ config, prepared: { files } }) {
    const { samples, maxNewTokens, seed, reward } = config;
    return {
        data: files,
        ...(typeof reward === 'string' ? { reward } : {}),
        ...{ samples, temperature: temperatureOf(config), maxNewTokens, seed },
    };
}
//# sourceMappingURL=evaluate-model.js.map