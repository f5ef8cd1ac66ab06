/** Arrays that one copy brings to a CUDA device, and what those that steps start from have in common. Pure. */
import type { Draws } from './step.js'

/** A part of an array: where it begins, in words, and how many it has. */
export interface Part {
  at: number
  words: number
}

/** Parts one after another. */
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

/** How tokens are drawn, for each row that draws. */
export interface DrawParts {
  forced: Part
  keys: Part
  /** float32. */
  settings: Part
  bannedOffsets: Part
}

export function drawParts(part: (words: number) => Part, draws: number): DrawParts {
  return { forced: part(draws), keys: part(2 * draws), settings: part(4 * draws), bannedOffsets: part(draws + 4) }
}

export function putDraws(state: Int32Array, parts: DrawParts, draws: Draws): void {
  state.set(draws.forced, parts.forced.at)
  for (let i = 0; i < draws.count; i++) {
    state[parts.keys.at + 2 * i] = draws.streams[3 * i]!
    state[parts.keys.at + 2 * i + 1] = draws.streams[3 * i + 1]!
  }
  new Float32Array(state.buffer).set(draws.settings, parts.settings.at)
  const { at, words } = parts.bannedOffsets
  state.set(draws.bannedOffsets, at)
  // Rows that are not there forbid nothing.
  state.fill(draws.bannedIds.length, at + draws.bannedOffsets.length, at + words)
}

/** Any arrays as one, and where each is in it. An empty one has a place too: kernels want an address. */
export function together(arrays: readonly (Int32Array | Float32Array)[]): { words: Int32Array; parts: Part[] } {
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
export function hasFilters({ count, settings }: Draws): boolean {
  for (let i = 0; i < 4 * count; i += 4) {
    const temperature = settings[i]!
    const topK = settings[i + 1]!
    const topP = settings[i + 2]!
    const minP = settings[i + 3]!
    if (temperature > 0 && (topK > 0 || topP < 1 || minP > 0)) return true
  }
  return false
}
