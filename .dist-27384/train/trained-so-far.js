export async function trainedSoFar(view) {
    const logged = Math.max(0, ...[...view.metrics.values()].map(points => points.at(-1).step));
    const newest = await view.latest();
    const last = view.events.findLast(({ kind, step }) => /^(checkpoint|resumed)$/.test(kind) && typeof step === 'number');
    const saved = last?.step ?? newest?.step ?? 0;
    // A newer one was passed over, and the run went on from before it.
    return { logged, saved, checkpoint: newest?.step === saved ? newest : undefined };
}
/** `step 3`, `steps 3 to 7`. */
export function span(what, first, last) {
    return first === last ? `${what} ${first}` : `${what}s ${first} to ${last}`;
}
//# sourceMappingURL=trained-so-far.js.map