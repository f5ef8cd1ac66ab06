/** The demo's task: digits to sort, as a careless tutor, a judge of pairs and a verifier see them. Pure. */
import { createHash } from 'node:crypto';
/** Of all prompts. */
const heldOutShare = 0.2;
/** Every row of `digits` digits, split by the hash of its prompt: a prompt stays on its side whatever others there are. */
export function makeTask({ digits, heldOutPrompts }) {
    const all = Array.from({ length: 10 ** digits }, (_, i) => `sort ${`${i}`.padStart(digits, '0')}:`);
    const byHash = all.map(prompt => ({ prompt, share: share(prompt) })).sort((a, b) => a.share - b.share);
    const heldOut = byHash.filter(one => one.share < heldOutShare).map(({ prompt }) => prompt);
    return { training: all.filter(prompt => share(prompt) >= heldOutShare), heldOut: heldOut.slice(0, heldOutPrompts) };
}
/** The right answer. */
export function answerTo(prompt) {
    return sorted(prompt.replaceAll(/\D/g, ''));
}
/** How often the tutor has the last two digits the wrong way round, and how often any two neighbours. */
const slips = { last: 0.45, any: 0.15 };
/** What the tutor writes: the digits sorted, but for a slip in six of ten answers. The same seed and prompt give the same. */
export function tutorAnswer(prompt, seed) {
    const right = answerTo(prompt);
    const slip = share(`${seed}/${prompt}/slip`);
    if (slip < slips.last)
        return swapped(right, right.length - 2);
    if (slip < slips.last + slips.any)
        return swapped(right, Math.floor(share(`${seed}/${prompt}/place`) * (right.length - 1)));
    return right;
}
/** Rows for supervised fine-tuning: what the tutor wrote. */
export const demonstrations = (prompts, seed) => prompts.map(prompt => ({ prompt, completion: tutorAnswer(prompt, seed) }));
/**
 * Rows for a reward model: the right answer over wrong ones of every kind. A kind that is missing here would be one that PPO finds: with
 * swapped neighbours alone, digits that are in order and were never asked for score as well as the right ones.
 */
export const preferences = (prompts, seed) => prompts.flatMap(prompt => {
    const chosen = answerTo(prompt);
    return wrongAnswers(prompt, seed).map(rejected => ({ prompt, chosen, rejected }));
});
function wrongAnswers(prompt, seed) {
    const right = answerTo(prompt);
    const place = (what, places = right.length) => Math.floor(share(`${seed}/${prompt}/${what}`) * places);
    const replaced = (what) => {
        const at = place(`${what} place`);
        return `${right.slice(0, at)}${place(`${what} digit`, 10)}${right.slice(at + 1)}`;
    };
    const at = place('length');
    const answers = [
        swapped(right, right.length - 2),
        swapped(right, place('swap', right.length - 1)),
        replaced('other digit'),
        sorted(replaced('other digit in order')),
        doubled(right, place('doubled', right.length - 1), 0),
        doubled(right, place('doubled from behind', right.length - 1), 1),
        place('too short or too long', 2) === 0
            ? `${right.slice(0, at)}${right.slice(at + 1)}`
            : `${right.slice(0, at)}${right[at]}${right.slice(at)}`,
    ];
    return [...new Set(answers)].filter(answer => answer !== right);
}
/** Rows for reinforcement learning: the prompt, and the answer that a verifier compares with. */
export const verifiable = (prompts) => prompts.map(prompt => ({ prompt, reference: answerTo(prompt) }));
const sorted = (digits) => [...digits].sort().join('');
function swapped(text, at) {
    return `${text.slice(0, at)}${text[at + 1]}${text[at]}${text.slice(at + 2)}`;
}
/** Of two neighbours, one in both places: still in order. */
function doubled(text, at, which) {
    return `${text.slice(0, at)}${text[at + which].repeat(2)}${text.slice(at + 2)}`;
}
/** A text's own number from 0 to 1. */
function share(text) {
    return createHash('sha256').update(text).digest().readUInt32LE(0) / 2 ** 32;
}
//# sourceMappingURL=task.js.map