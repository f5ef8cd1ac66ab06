import { allEqual } from './shaping.js';
/**
 * Decides which groups make a batch of `needed`, given what every round so far sampled: groups whose rewards (after the overlong
 * penalty) are all equal teach nothing and are dropped, and so is a group that lost members for good, given as `incomplete`. Called again
 * after each round with all rounds, so that the answer depends on round and place alone, never on what arrived first.
 *
 * Without dynamic sampling (`degenerate: 'keep'`) equal groups stay and only incomplete ones are replaced.
 *
 * @example
 * const { kept, next } = selectGroups({ needed: 2, rounds: [[[1, 1], [1, 0]]], maxResampleRounds: 3, degenerate: 'drop' })
 * kept // [{ round: 0, place: 1 }]
 * next // { kind: 'sample', missing: 1 }
 */
export function selectGroups(options) {
    const { needed, rounds, maxResampleRounds, degenerate } = options;
    const kept = [];
    const droppedEqual = [];
    const droppedIncomplete = [];
    const surplus = [];
    let roundsUsed = 0;
    for (const [round, groups] of rounds.entries()) {
        if (kept.length < needed && round <= maxResampleRounds)
            roundsUsed = round + 1;
        for (const [place, rewards] of groups.entries()) {
            const origin = { round, place };
            if (kept.length >= needed || round > maxResampleRounds)
                surplus.push(origin);
            else if (rewards === 'incomplete')
                droppedIncomplete.push(origin);
            else if (degenerate === 'drop' && allEqual(rewards))
                droppedEqual.push(origin);
            else
                kept.push(origin);
        }
    }
    const missing = needed - kept.length;
    const next = missing <= 0
        ? { kind: 'full' }
        : { kind: rounds.length <= maxResampleRounds ? 'sample' : 'exhausted', missing };
    return { kept, droppedEqual, droppedIncomplete, surplus, roundsUsed, next };
}
/**
 * What to do with a group of which some samples failed, in generation or in reward. Its place is filled by the next sample
 * indices of the same prompt, never by fewer members: a baseline over those that survived would be too high or too low wherever
 * failing has to do with the reward.
 *
 * @example
 * completeGroup({
 *   members: [{ sampleIndex: 0, outcome: 'scored' }, { sampleIndex: 1, outcome: 'lost' }],
 *   nSamplesPerPrompt: 2,
 *   maxSamples: 4,
 * }) // { kind: 'sample', sampleIndices: [2] }
 */
export function completeGroup(options) {
    const { members, nSamplesPerPrompt, maxSamples } = options;
    const scored = members.filter(({ outcome }) => outcome === 'scored').map(({ sampleIndex }) => sampleIndex);
    scored.sort((a, b) => a - b);
    // Should more have come than are needed, those of the smallest indices are the group, whichever came first.
    if (scored.length >= nSamplesPerPrompt)
        return { kind: 'complete', sampleIndices: scored.slice(0, nSamplesPerPrompt) };
    const missing = nSamplesPerPrompt - scored.length;
    if (members.length + missing > maxSamples)
        return { kind: 'drop', lost: members.length - scored.length };
    const first = members.reduce((highest, { sampleIndex }) => Math.max(highest, sampleIndex), -1) + 1;
    return { kind: 'sample', sampleIndices: Array.from({ length: missing }, (_, i) => first + i) };
}
//# sourceMappingURL=dynamic-sampling.js.map