/**
 * The device's side of one engine step: arrays of whole numbers in, sampled tokens out. Everything a sequence is lives on
 * the other side of this line, in the scheduler and the engine; everything a tensor is lives on this one.
 */
/** Batches are filled up to a whole number of these: the CPU's matrix product takes four rows at a time. */
export const rowMultiple = 4;
export const padded = (rows) => Math.ceil(rows / rowMultiple) * rowMultiple;
//# sourceMappingURL=step.js.map