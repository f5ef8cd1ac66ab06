import { RewardComputationEngine, rewardOptionNames, } from '../reward/index.js';
import { pickAdvantageOptions } from './advantage-options.js';
import { batchInfo } from './batch-info.js';
import { Collector, withoutStale } from './collect.js';
import { ExperienceConfigError, resolveExperienceConfig, } from './config.js';
import { deriveAdvantages } from './derive-advantages.js';
import { highEntropyMask } from './entropy-filter.js';
import { scoreResponses } from './inference.js';
import { restoreKlController, updateKlController } from './kl-controller.js';
import { ModelTurns, noTurns } from './model-turns.js';
import { encodePrompt, promptRows, } from './prompts.js';
import { isResident, modelsOfRewards, rewardsInTurns } from './reward-turns.js';
import { initialRunningMoments, restoreRunningMoments } from './running-moments.js';
/**
 * @example
 * const maker = new FastExperienceMaker({
 *   actor,
 *   initialModel: reference,
 *   tokenizer,
 *   generator: new LocalEngine(actor, { tokenizer }),
 *   sources: [sampleReward(({ response }) => (response.includes('42') ? 1 : 0), { name: 'answer' })],
 *   advantageEstimator: 'group_norm',
 *   nSamplesPerPrompt: 8,
 *   maxNewTokens: 64,
 * })
 * const { experiences, info } = await maker.makeExperienceList(['What is 6 x 7?'])
 */
export class FastExperienceMaker {
    options;
    config;
    rewards;
    turns;
    calls = 0;
    klController;
    runningMoments = initialRunningMoments;
    constructor(options) {
        this.options = options;
        const { own, rewards } = divided(options);
        this.config = resolveExperienceConfig(own, { critic: options.critic !== undefined });
        this.klController = restoreKlController(options.klController ?? { kind: 'fixed' });
        const { generator, actor, critic, initialModel } = options;
        const models = [critic, initialModel, ...modelsOfRewards(rewards)].filter(isResident);
        const { enableEngineSleep } = this.config;
        this.turns = enableEngineSleep ? new ModelTurns({ generator, actor, models }) : noTurns(generator);
        this.rewards = new RewardComputationEngine({
            ...(enableEngineSleep ? rewardsInTurns(rewards, this.turns) : rewards),
            tokenizer: options.tokenizer,
        });
        this.checkModels();
    }
    /** For a checkpoint. */
    get state() {
        const { calls, klController, runningMoments } = this;
        return { calls, klController, runningMoments };
    }
    restore(state) {
        this.calls = state.calls;
        this.klController = restoreKlController(state.klController);
        this.runningMoments = restoreRunningMoments(state.runningMoments);
    }
    /** All seven stages. */
    async makeExperienceList(prompts, options = {}) {
        this.checkOldLogprobs(options);
        return this.completeExperiences(await this.generateSamples(prompts, options), options);
    }
    /** Stages 1 and 5's selection: samples with their rewards, in whole groups. No weight of actor, critic or reference is read. */
    async generateSamples(prompts, options = {}) {
        return this.collect(prompts, options);
    }
    /** Stages 2 to 7, of samples that were generated before under the same options. */
    async completeExperiences(generated, options = {}) {
        this.checkOldLogprobs(options);
        const started = performance.now();
        const { config } = this.settingsOf(options);
        const collected = withoutStale(generated, options.oldestVersion);
        const samples = collected.groups.flat();
        const seconds = { ...noSeconds, ...collected.seconds };
        const inferences = await this.inferences(samples, config, seconds, options);
        await this.turns.end();
        const deriving = performance.now();
        const rollout = samples.map((sample, i) => rolloutSample(sample, inferences[i]));
        const derived = this.getAdvantagesAndReturns(rollout, config);
        if (options.purpose !== 'evaluation')
            this.learn(derived);
        const experiences = samples.map((sample, i) => this.experience(sample, inferences[i], derived, i, config));
        const now = performance.now();
        seconds.advantages = (now - deriving) / 1000;
        const { encoding, generation, reward } = collected.seconds;
        seconds.total = encoding + generation + reward + (now - started) / 1000;
        const info = batchInfo({
            advantages: derived.info,
            samples,
            entropies: inferences.map(({ entropy }) => entropy),
            collected,
            dropped: collected.dropped,
            seconds,
            microRolloutBatchSize: config.microRolloutBatchSize,
        });
        return { experiences, info, dropped: collected.dropped };
    }
    checkOldLogprobs({ oldLogprobs }) {
        if (oldLogprobs === 'skip' && this.klCoef > 0 && !this.config.useKlLoss)
            throw new RangeError("oldLogprobs: KL is part of the rewards, and needs the actor's log-probabilities");
    }
    /** Stages 2 to 4: what actor, reference and critic say of samples. */
    async makeExperience(samples, options = {}) {
        const { signal, ...generation } = options;
        await this.turns.beginScoring();
        // The samples are there already: how they were drawn is not judged here.
        return this.inferences(samples, this.configFor(generation, 'evaluation'), { ...noSeconds }, signal ? { signal } : {});
    }
    /** Stages 5 and 7: shaping, normalisation, KL, advantages and returns. The running statistics are read, not changed. */
    getAdvantagesAndReturns(samples, config = this.config) {
        return deriveAdvantages({
            samples,
            options: { ...this.advantageOptions(config), klCoef: this.klCoef },
            runningMoments: this.runningMoments,
        });
    }
    get hasReference() {
        return this.options.initialModel !== undefined;
    }
    advantageOptions(config) {
        return pickAdvantageOptions(config);
    }
    /** What KL costs: in the rewards of the next rollout, or as a loss. */
    get klCoef() {
        return this.hasReference ? this.klController.coef : 0;
    }
    /** For a rollout made without the actor's log-probabilities: the KL that its training measured, once. */
    observeKl(measured) {
        this.klController = updateKlController(this.klController, { kl: measured.kl, nSteps: measured.samples });
    }
    /** Runs work of a model, such as its training, while it has the device. */
    withModel(model, work) {
        return this.turns.use(model, work);
    }
    learn({ runningMoments, info }) {
        this.runningMoments = runningMoments;
        if (info.kl !== undefined)
            this.observeKl({ kl: info.kl, samples: info.samples });
    }
    configFor(generation, purpose) {
        const given = Object.entries(generation).filter(([, value]) => value !== undefined);
        if (given.length === 0)
            return this.config;
        return resolveExperienceConfig({ ...this.config, ...Object.fromEntries(given) }, { critic: this.options.critic !== undefined, purpose });
    }
    /** Which prompts, and how they are sampled. */
    settingsOf(options) {
        const { ids, references, labels, rows, images, videos, morePrompts, signal, journal, ...more } = options;
        const { purpose = 'training', evaluationSamples = 1, oldLogprobs: _, oldestVersion: __, ...generation } = more;
        const usual = this.configFor(generation, purpose);
        const config = purpose === 'training' ? usual : { ...usual, dynamicSampling: false, nSamplesPerPrompt: evaluationSamples };
        const columns = { ids, references, labels, rows, images, videos };
        return { config, columns, morePrompts, signal, journal };
    }
    async collect(prompts, options) {
        const { config, columns, morePrompts, signal, journal } = this.settingsOf(options);
        const started = performance.now();
        signal?.throwIfAborted();
        const call = this.calls++;
        let place = 0;
        const encode = (row) => encodePrompt(row, {
            tokenizer: this.options.tokenizer,
            promptTruncation: config.promptTruncation,
            chatTemplate: config.chatTemplate,
            limit: Math.min(config.promptMaxLen ?? Number.POSITIVE_INFINITY, this.options.generator.maxLength - 1),
            group: `${call}.${place++}`,
        });
        const given = promptRows(prompts, columns);
        this.rewards.checkLabels(given.map(({ label }) => label));
        const encoded = await Promise.all(given.map(encode));
        refuseTwice(encoded.map(({ group }) => group));
        if (journal)
            await Promise.all(encoded.map(prompt => journal.keepPrompt(prompt)));
        const source = morePrompts && iteratorOf(morePrompts);
        const collector = new Collector({
            name: `${call}`,
            generator: this.options.generator,
            rewards: this.rewards,
            tokenizer: this.options.tokenizer,
            config,
            turns: this.turns,
            nextPrompt: source &&
                (async () => {
                    const next = await source.next();
                    if (next.done)
                        return undefined;
                    const prompt = await encode(next.value);
                    await journal?.keepPrompt(prompt);
                    return prompt;
                }),
            journal,
            signal,
        });
        const encoding = (performance.now() - started) / 1000;
        const collected = await collector.collect(encoded);
        return { ...collected, seconds: { ...collected.seconds, encoding } };
    }
    /** As the journal has them, or of the models; never some of each, as the models see the samples in batches. */
    async inferences(samples, config, seconds, options) {
        const { journal } = options;
        const keys = samples.map(({ prompt, sample }) => ({ group: prompt.group, sample: sample.sample }));
        const known = journal && keys.map(key => journal.inference(key)).filter(one => one !== undefined);
        if (known && known.length === samples.length)
            return known;
        const inferences = await this.infer(samples, config, seconds, options);
        await journal?.keepInferences(keys.map((key, i) => ({ ...key, inference: inferences[i] })));
        return inferences;
    }
    /** Role by role, so that each model is brought to the device once. */
    async infer(samples, config, seconds, { oldLogprobs = 'score', signal }) {
        const { actor, critic, initialModel } = this.options;
        const sequences = samples.map(({ sample }) => joined(sample.promptIds, sample.responseIds));
        const from = samples.map(({ sample }) => sample.promptIds.length);
        const shared = {
            microRolloutBatchSize: config.microRolloutBatchSize,
            packingSamples: config.packingSamples,
            ...(signal ? { signal } : {}),
        };
        const scaled = { ...shared, temperature: config.temperature || 1 };
        const timed = async (stage, model, work) => {
            signal?.throwIfAborted();
            const started = performance.now();
            const found = await this.turns.use(model, work);
            seconds[stage] += (performance.now() - started) / 1000;
            return found;
        };
        const refer = (model, adapter) => timed('reference', model, () => scoreResponses(model, sequences, from, { ...scaled, adapter }));
        // The actor last: training needs it next.
        const other = initialModel === 'adapter-off' ? undefined : initialModel;
        const apart = other && (await refer(other, 'on'));
        const valued = critic && (await timed('critic', critic, () => scoreResponses(critic, sequences, from, shared)));
        const { entropy } = actor.capabilities;
        const acted = oldLogprobs === 'skip'
            ? undefined
            : await timed('actor', actor, () => scoreResponses(actor, sequences, from, { ...scaled, entropy }));
        const referred = initialModel === 'adapter-off' ? await refer(actor, 'off') : apart;
        return samples.map((_, i) => ({
            logprobs: acted?.[i]?.logprobs,
            entropy: acted?.[i]?.entropy,
            refLogprobs: referred?.[i]?.logprobs,
            values: valued?.[i]?.values,
        }));
    }
    experience(scored, inference, derived, place, config) {
        const { prompt, sample, texts, reward } = scored;
        const { advantages, returns, kl, shapedReward, overlongPenalty } = derived.samples[place];
        const plain = config.skipSpecialTokens;
        const { highEntropyTokenRatio: ratio } = config;
        const length = sample.responseIds.length;
        return {
            group: prompt.group,
            sample: sample.sample,
            prompt: plain ? texts.prompt : texts.promptRaw,
            response: plain ? texts.response : texts.responseRaw,
            texts,
            promptIds: sample.promptIds,
            responseIds: sample.responseIds,
            label: prompt.label,
            reference: prompt.reference,
            row: prompt.row,
            finishReason: sample.finishReason,
            policyVersion: sample.policyVersion,
            versions: sample.versions,
            temperature: config.temperature || 1,
            ...inference,
            engineLogprobs: sample.logprobs,
            reward: reward.reward,
            components: reward.components,
            metrics: reward.metrics,
            overlongPenalty,
            shapedReward,
            kl,
            advantages,
            returns,
            lossMask: ratio > 0 && inference.entropy ? highEntropyMask(inference.entropy, ratio) : new Uint8Array(length).fill(1),
        };
    }
    checkModels() {
        const { actor, initialModel, generator, klController } = this.options;
        const { config } = this;
        const problems = [];
        if (initialModel === 'adapter-off' && !actor.capabilities.adapterOff)
            problems.push('initialModel: adapter-off needs an actor with an adapter, and this one has none; give a model');
        if (initialModel === undefined && klController !== undefined && klController.coef !== 0)
            problems.push('klController: KL is measured to a reference, and there is none; give initialModel');
        if (this.options.processor && !(actor.capabilities.media && generator.capabilities.media))
            problems.push('processor: images and videos need a vision-language actor and engine, and these read text alone');
        if (config.highEntropyTokenRatio > 0 && !actor.capabilities.entropy)
            problems.push('highEntropyTokenRatio: this actor gives no entropies');
        if (config.stop.length > 0 && !generator.capabilities.text)
            problems.push('stop: this generator has no tokenizer, which stop strings need');
        if (config.enableEngineSleep && !generator.capabilities.sleep)
            problems.push('enableEngineSleep: this generator cannot sleep');
        if (config.promptMaxLen !== undefined && config.promptMaxLen >= generator.maxLength)
            problems.push(`promptMaxLen: ${config.promptMaxLen} leaves no token to generate; the engine's sequences have ${generator.maxLength} at most`);
        if (problems.length > 0)
            throw new ExperienceConfigError(problems);
    }
}
const noSeconds = {
    encoding: 0,
    generation: 0,
    reward: 0,
    actor: 0,
    reference: 0,
    critic: 0,
    advantages: 0,
    total: 0,
};
const partNames = new Set(['actor', 'critic', 'initialModel', 'tokenizer', 'processor', 'generator', 'klController']);
const rewardNames = new Set(rewardOptionNames);
/** One flat list of options into the models, the rewards and the rest; what nobody knows stays in the rest, to be refused there. */
function divided(options) {
    const own = {};
    const rewards = {};
    for (const [name, value] of Object.entries(options)) {
        if (partNames.has(name) || value === undefined)
            continue;
        const target = rewardNames.has(name) ? rewards : own;
        target[name] = value;
    }
    return { own, rewards };
}
function rolloutSample({ prompt, sample, reward }, inference) {
    const { logprobs, refLogprobs, values } = inference;
    return {
        group: prompt.group,
        reward: reward.reward,
        length: sample.responseIds.length,
        logprobs,
        // KL needs both.
        refLogprobs: logprobs && refLogprobs,
        values,
    };
}
function joined(first, second) {
    const whole = new Int32Array(first.length + second.length);
    whole.set(first);
    whole.set(second, first.length);
    return whole;
}
function refuseTwice(groups) {
    const seen = new Set();
    for (const group of groups) {
        if (seen.has(group))
            throw new RangeError(`two prompts have the id "${group}"; samples of both would be the same`);
        seen.add(group);
    }
}
function iteratorOf(items) {
    return Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
}
//# sourceMappingURL=fast-experience-maker.js.map