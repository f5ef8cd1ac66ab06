/** What a model reads: token ids, and the media that stand at certain places in them. */
export function idsOf(sequence) {
    return sequence instanceof Int32Array ? sequence : sequence.ids;
}
export function mediaOf(sequence) {
    return sequence instanceof Int32Array ? [] : sequence.media;
}
//# sourceMappingURL=sequence.js.map