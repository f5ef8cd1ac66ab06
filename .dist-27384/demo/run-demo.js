/** The demo from nothing to trained models: SFT, a reward model, PPO on it, and GRPO on a verifier, each measured on held-out prompts. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accuracies, answersOf, greedyAccuracy, mean, rewardsOf } from './answers.js';
import { prepareDemo } from './prepare.js';
import { runStage } from './run-stage.js';
import { modelOf, rewardFiles, stageConfigs } from './stage-configs.js';
/** Models that answer prompts; `base` has random weights. */
export const speakers = ['base', 'sft', 'ppo', 'grpo', 'control'];
/** Panels of the picture. */
export const curveNames = { accuracy: 'held-out accuracy', reward: 'held-out reward (reward model)' };
export async function runDemo(options) {
    const { directory, settings, seed, onStage, report, signal } = options;
    const seconds = {};
    const timed = async (what, work) => {
        const started = performance.now();
        const made = await work();
        seconds[what] = (seconds[what] ?? 0) + (performance.now() - started) / 1000;
        return made;
    };
    const prepared = await timed('prepare', () => prepareDemo(directory, { settings, seed, signal }));
    for (const [file, text] of Object.entries(rewardFiles))
        await writeFile(join(directory, file), text);
    const { heldOut } = prepared.task;
    const answers = (model) => timed('measure', () => answersOf(join(directory, model), { prompts: heldOut, samples: settings.samples, seed, signal }));
    const said = { base: await answers('base') };
    let pairAccuracy;
    const finish = (stage) => onStage({ stage, seconds: seconds[stage], prepared, measured: measuredSoFar(said), pairAccuracy });
    finish('prepare');
    const configs = stageConfigs(settings, seed);
    const train = (stage) => timed(stage, () => runStage(stage, { directory, values: configs[stage], report, signal }));
    await train('sft');
    said.sft = await answers(modelOf('sft'));
    finish('sft');
    pairAccuracy = (await train('reward')).best?.value ?? 0;
    finish('reward');
    const learners = options.control === 'run' ? ['ppo', 'grpo', 'control'] : ['ppo', 'grpo'];
    const curves = [];
    const score = (given) => timed('measure', () => rewardsOf(join(directory, modelOf('reward')), given, { signal }));
    for (const stage of learners) {
        await train(stage);
        said[stage] = await answers(modelOf(stage));
        finish(stage);
        const points = [{ step: 0, answers: said.sft }];
        for (let step = settings.measureEvery; step < settings.iterations; step += settings.measureEvery) {
            const model = join(stage, `iteration_${`${step}`.padStart(6, '0')}`);
            if (existsSync(join(directory, model)))
                points.push({ step, answers: await answers(model) });
        }
        points.push({ step: settings.iterations, answers: said[stage] });
        curves.push(await curveOf(stage, points, score));
    }
    const measurements = {};
    for (const speaker of speakers) {
        const own = said[speaker];
        if (own)
            measurements[speaker] = { ...measuredOf(own), reward: mean(await score(own)) };
    }
    return { directory, seed, measurements, pairAccuracy, seconds, curves, examples: examplesOf(said) };
}
function measuredOf(answers) {
    const each = accuracies(answers);
    return { accuracies: each, accuracy: mean(each), greedyAccuracy: greedyAccuracy(answers) };
}
function measuredSoFar(said) {
    return Object.fromEntries(Object.entries(said).map(([speaker, answers]) => [speaker, measuredOf(answers)]));
}
async function curveOf(name, points, score) {
    const accuracy = points.map(({ step, answers }) => ({ step, value: mean(accuracies(answers)) }));
    const reward = [];
    for (const { step, answers } of points)
        reward.push({ step, value: mean(await score(answers)) });
    return {
        name,
        metrics: new Map([
            [curveNames.accuracy, accuracy],
            [curveNames.reward, reward],
        ]),
    };
}
/** The first three: held-out prompts come in the order of their hashes, which is none. */
function examplesOf(said) {
    return said.base.slice(0, 3).map(({ prompt, reference }, at) => ({
        prompt,
        reference,
        answers: Object.fromEntries(Object.entries(said).map(([speaker, own]) => [speaker, firstSamples(own[at])])),
    }));
}
const firstSamples = ({ sampled }) => sampled
    .slice(0, 3)
    .map(({ text }) => text)
    .join(' ');
//# sourceMappingURL=run-demo.js.map