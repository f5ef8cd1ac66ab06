/**
 * The journal of one iteration: its prompts, every finished sample, their rewards, what the models said of them, the batch that
 * was made of it all, and each optimiser step. Enough to make the same batch again without any model.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { RunError } from '../../run/index.js';
export class IterationJournal {
    journal;
    iteration;
    prompts = [];
    updates = [];
    rollout;
    end;
    groups = new Set();
    outcomes = new Map();
    rewards = new Map();
    inferences = new Map();
    constructor(journal, iteration) {
        this.journal = journal;
        this.iteration = iteration;
    }
    /** With everything an earlier process left of this iteration. */
    static async open(journal, iteration) {
        const opened = new IterationJournal(journal, iteration);
        for (const { record } of await journal.read(iteration))
            opened.take(record);
        return opened;
    }
    get samples() {
        return this.outcomes.size;
    }
    outcome(key) {
        return this.outcomes.get(nameOf(key));
    }
    reward(key) {
        return this.rewards.get(nameOf(key));
    }
    inference(key) {
        return this.inferences.get(nameOf(key));
    }
    async keepPrompt({ group, ids }) {
        if (this.groups.has(group))
            return;
        await this.append({ kind: 'prompt', group, ids });
    }
    async keepOutcome(outcome) {
        const { promptId: group, sample } = outcome;
        if (this.outcome({ group, sample }))
            return;
        await this.append(outcomeRecord(outcome));
    }
    async keepRewards(rewards) {
        await this.append({ kind: 'rewards', rewards });
    }
    /** In several records, with pauses for others in between: they are used only where all are there. */
    async keepInferences(inferences) {
        const kept = [];
        for (let start = 0; start < inferences.length; start += 16) {
            kept.push(this.append({ kind: 'inferences', inferences: inferences.slice(start, start + 16) }));
            await pause();
        }
        await Promise.all(kept);
    }
    /** Before the first update: what it will be trained on. */
    async keepRollout(rollout) {
        await this.append({ kind: 'rollout', ...rollout });
    }
    async keepUpdate(update) {
        await this.append({ kind: 'update', ...update });
    }
    async keepEnd(end) {
        await this.append({ kind: 'end', ...end });
    }
    /**
     * A run goes on after so many of the updates: the weights of later ones are gone, and they did not happen. Rewards that failed
     * before there was a batch are asked for again: the reward may have been mended.
     */
    async keepResumed({ updates }) {
        const failed = !this.rollout && [...this.rewards.values()].some(({ kind }) => kind === 'failed');
        if (this.updates.length > updates || this.end || failed)
            await this.append({ kind: 'resumed', updates });
    }
    async append(record) {
        this.take(record);
        await this.journal.append(this.iteration, record);
    }
    take(record) {
        const one = record;
        switch (one.kind) {
            case 'prompt':
                this.groups.add(one.group);
                this.prompts.push({ group: one.group, ids: one.ids });
                return;
            case 'outcome': {
                const outcome = storedOutcome(one);
                this.outcomes.set(nameOf({ group: outcome.promptId, sample: outcome.sample }), outcome);
                return;
            }
            case 'rewards':
                // Where its sample could not be written, one that is made in its place may be another.
                for (const reward of one.rewards)
                    if (this.outcomes.has(nameOf(reward)))
                        this.rewards.set(nameOf(reward), reward.outcome);
                return;
            case 'inferences':
                for (const { inference, ...key } of one.inferences)
                    this.inferences.set(nameOf(key), withAll(inference));
                return;
            case 'rollout':
                this.rollout = { samples: one.samples, klCoef: one.klCoef, oldestVersion: one.oldestVersion };
                return;
            case 'update': {
                const { kind: _, ...update } = one;
                this.updates.push(update);
                return;
            }
            case 'end':
                this.end = one.measuredKl ? { measuredKl: one.measuredKl } : {};
                return;
            case 'resumed':
                this.updates.splice(one.updates);
                this.end = undefined;
                if (!this.rollout)
                    for (const [key, { kind }] of this.rewards)
                        if (kind === 'failed')
                            this.rewards.delete(key);
                return;
            case 'changes':
                // For people: what a resumed run was allowed to do otherwise from here on.
                return;
            default:
                throw new RunError(`iteration ${this.iteration}: the journal has a record of the kind "${record.kind}"; a newer version wrote it`);
        }
    }
}
function outcomeRecord(outcome) {
    const { kind: of, promptId: group, sample, ...rest } = outcome;
    // Texts are made again from the ids.
    const { text: _, ...kept } = rest;
    return { kind: 'outcome', group, sample, of, ...kept };
}
function storedOutcome({ kind: _, group, of, ...rest }) {
    const absent = of === 'completed'
        ? { stopReason: undefined, topLogprobs: undefined, promptLogprobs: undefined, text: undefined }
        : {};
    return { ...absent, ...rest, kind: of, promptId: group };
}
/** Fields that say nothing are not written. */
function withAll({ logprobs, entropy, refLogprobs, values }) {
    return { logprobs, entropy, refLogprobs, values };
}
function nameOf({ group, sample }) {
    return `${sample} ${group}`;
}
//# sourceMappingURL=iteration-journal.js.map