/** Packs arrays into one, so that one copy moves them to a CUDA device. Pure. */
import type { SamplingRows } from './step.js'

/** A part of an array: its start and its length, in words. */
export interface Part {
  at: number
  words: number
}

/** Allocates consecutive parts. */
export function partsFrom(start: number): { part(words: number): Part; end(): number } {
  let at = start
  return {
    part(words) {
      const made = { at, words }
      at += words
      return made
    },
    end: () => at,
  }
}

/** Sampling inputs, for each sampling row. */
export interface SamplingParts {
  targetIds: Part
  keys: Part
  /** float32. */
  settings: Part
  forbiddenOffsets: Part
}

export function samplingParts(part: (words: number) => Part, samplingRows: number): SamplingParts {
  return {
    targetIds: part(samplingRows),
    keys: part(2 * samplingRows),
    settings: part(4 * samplingRows),
    forbiddenOffsets: part(samplingRows + 4),
  }
}

export function putSamplingRows(state: Int32Array, parts: SamplingParts, samplingRows: SamplingRows): void {
  state.set(samplingRows.targetIds, parts.targetIds.at)
  for (let i = 0; i < samplingRows.count; i++) {
    state[parts.keys.at + 2 * i] = samplingRows.streams[3 * i]!
    state[parts.keys.at + 2 * i + 1] = samplingRows.streams[3 * i + 1]!
  }
  new Float32Array(state.buffer).set(samplingRows.settings, parts.settings.at)
  const { at, words } = parts.forbiddenOffsets
  state.set(samplingRows.forbiddenOffsets, at)
  // Padding rows forbid nothing.
  state.fill(samplingRows.forbiddenIds.length, at + samplingRows.forbiddenOffsets.length, at + words)
}

/** Joins arrays into one, with their parts. An empty array has a part too: kernels need an address. */
export function packArrays(arrays: readonly (Int32Array | Float32Array)[]): { words: Int32Array; parts: Part[] } {
  let end = 0
  const parts = arrays.map(({ length }): Part => {
    const part = { at: end, words: length || 4 }
    end += 4 * Math.ceil(part.words / 4)
    return part
  })
  const words = new Int32Array(end)
  const floats = new Float32Array(words.buffer)
  for (const [i, array] of arrays.entries()) (array instanceof Float32Array ? floats : words).set(array, parts[i]!.at)
  return { words, parts }
}

/** Whether any row has topK, topP or minP. */
export function hasFilters({ count, settings }: SamplingRows): boolean {
  for (let i = 0; i < 4 * count; i += 4) {
    const temperature = settings[i]!
    const topK = settings[i + 1]!
    const topP = settings[i + 2]!
    const minP = settings[i + 3]!
    if (temperature > 0 && (topK > 0 || topP < 1 || minP > 0)) return true
  }
  return false
}
