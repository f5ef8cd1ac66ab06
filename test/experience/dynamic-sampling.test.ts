import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completeGroup, selectGroups } from '../../src/experience/index.js'

const degenerate = fc
  .tuple(fc.constantFrom(0, 0.3, 1), fc.integer({ min: 2, max: 5 }))
  .map(([reward, size]) => new Array(size).fill(reward))
const informative = fc
  .array(fc.constantFrom(0, 0.5, 1), { minLength: 2, maxLength: 5 })
  .filter(group => new Set(group).size > 1)
const rounds = fc.array(
  fc.array(fc.oneof(degenerate, informative, fc.constant('incomplete' as const)), { maxLength: 6 }),
  {
    minLength: 1,
    maxLength: 5,
  },
)

describe('dynamic sampling', () => {
  it('with k degenerate groups asks for exactly k more, and a full batch has exactly the groups asked for', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(degenerate, informative), { minLength: 1, maxLength: 8 }), first => {
        const k = first.filter(group => new Set(group).size === 1).length
        const needed = first.length
        const asked = selectGroups({ needed, rounds: [first], maxResampleRounds: 2, degenerate: 'drop' })
        expect(asked.droppedEqual).toHaveLength(k)
        expect(asked.next).toEqual(k === 0 ? { kind: 'full' } : { kind: 'sample', missing: k })
        if (k === 0) return
        const second = new Array(k).fill([0, 1])
        const full = selectGroups({ needed, rounds: [first, second], maxResampleRounds: 2, degenerate: 'drop' })
        expect(full.kept).toHaveLength(needed)
        expect(full.next).toEqual({ kind: 'full' })
        // What was kept before stays where it was.
        expect(full.kept.slice(0, asked.kept.length)).toEqual(asked.kept)
      }),
    )
  })

  it('puts every group into exactly one place, in order of round and place, and nothing dropped comes back', () => {
    fc.assert(
      fc.property(
        rounds,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 0, max: 4 }),
        (given, needed, maxResampleRounds) => {
          const selection = selectGroups({ needed, rounds: given, maxResampleRounds, degenerate: 'drop' })
          const { kept, droppedEqual, droppedIncomplete, surplus } = selection
          const named = [kept, droppedEqual, droppedIncomplete, surplus].map(origins =>
            origins.map(({ round, place }) => round * 100 + place),
          )
          const all = given.flatMap((groups, round) => groups.map((_, place) => round * 100 + place))
          expect(named.flat().sort((a, b) => a - b)).toEqual(all)
          for (const origins of named) expect(origins).toEqual(origins.toSorted((a, b) => a - b))
          expect(kept.length).toBeLessThanOrEqual(needed)
          for (const { round, place } of kept) expect(new Set(given[round]![place]).size).toBeGreaterThan(1)
          for (const { round } of [...kept, ...droppedEqual]) expect(round).toBeLessThan(selection.roundsUsed)
        },
      ),
    )
  })

  it('a further round changes nothing about groups already taken or dropped', () => {
    fc.assert(
      fc.property(rounds, fc.integer({ min: 1, max: 12 }), (given, needed) => {
        const options = { needed, maxResampleRounds: 10, degenerate: 'drop' as const }
        const before = selectGroups({ ...options, rounds: given.slice(0, -1) })
        const after = selectGroups({ ...options, rounds: given })
        expect(after.kept.slice(0, before.kept.length)).toEqual(before.kept)
        expect(after.droppedEqual.slice(0, before.droppedEqual.length)).toEqual(before.droppedEqual)
      }),
    )
  })

  it('ends after the rounds there may be, and says what is missing', () => {
    const equal = [[1, 1]]
    const options = { needed: 1, maxResampleRounds: 1, degenerate: 'drop' as const }
    expect(selectGroups({ ...options, rounds: [] }).next).toEqual({ kind: 'sample', missing: 1 })
    expect(selectGroups({ ...options, rounds: [equal] }).next).toEqual({ kind: 'sample', missing: 1 })
    const end = selectGroups({ ...options, rounds: [equal, equal] })
    expect(end.next).toEqual({ kind: 'exhausted', missing: 1 })
    expect(end.roundsUsed).toBe(2)
    // A round too many is not taken.
    expect(selectGroups({ ...options, rounds: [equal, equal, [[0, 1]]] })).toMatchObject({
      kept: [],
      surplus: [{ round: 2, place: 0 }],
      next: { kind: 'exhausted', missing: 1 },
    })
  })

  it('equal means equal, not 0 or 1: any equal rewards are degenerate, the smallest difference is not', () => {
    const groups = [
      [0.3, 0.3, 0.3],
      [0, 0, 0],
      [-2, -2, -2],
      [0.3, 0.3, 0.1 + 0.2],
      [0, 1, 1],
    ]
    const { kept, droppedEqual } = selectGroups({
      needed: 5,
      rounds: [groups],
      maxResampleRounds: 0,
      degenerate: 'drop',
    })
    expect(droppedEqual.map(({ place }) => place)).toEqual([0, 1, 2])
    expect(kept.map(({ place }) => place)).toEqual([3, 4])
  })

  it('switched off, equal groups stay and incomplete ones are still replaced', () => {
    const rounds = [[[1, 1], 'incomplete' as const, [0, 1]]]
    const selection = selectGroups({ needed: 3, rounds, maxResampleRounds: 1, degenerate: 'keep' })
    expect(selection.kept.map(({ place }) => place)).toEqual([0, 2])
    expect(selection.droppedIncomplete).toEqual([{ round: 0, place: 1 }])
    expect(selection.next).toEqual({ kind: 'sample', missing: 1 })
  })
})

describe('a group that lost members', () => {
  const scored = (...indices: number[]) => indices.map(sampleIndex => ({ sampleIndex, outcome: 'scored' as const }))
  const lost = (...indices: number[]) => indices.map(sampleIndex => ({ sampleIndex, outcome: 'lost' as const }))
  const options = { nSamplesPerPrompt: 3, maxSamples: 6 }

  it('starts with the first indices', () => {
    expect(completeGroup({ ...options, members: [] })).toEqual({ kind: 'sample', sampleIndices: [0, 1, 2] })
  })

  it('is completed by the next sample indices, never by one that was used', () => {
    expect(completeGroup({ ...options, members: [...scored(0, 2), ...lost(1)] })).toEqual({
      kind: 'sample',
      sampleIndices: [3],
    })
    expect(completeGroup({ ...options, members: [...scored(0, 2), ...lost(1, 3)] })).toEqual({
      kind: 'sample',
      sampleIndices: [4],
    })
    expect(completeGroup({ ...options, members: [...scored(4, 0, 2), ...lost(1, 3)] })).toEqual({
      kind: 'complete',
      sampleIndices: [0, 2, 4],
    })
  })

  it('is dropped whole when it stays short', () => {
    expect(completeGroup({ ...options, members: [...scored(0, 1), ...lost(2, 3, 4)] })).toEqual({
      kind: 'sample',
      sampleIndices: [5],
    })
    expect(completeGroup({ ...options, members: [...scored(0), ...lost(1, 2, 3, 4)] })).toEqual({
      kind: 'drop',
      lost: 4,
    })
  })

  it('takes the smallest indices, whatever arrived first', () => {
    expect(completeGroup({ ...options, members: scored(3, 1, 0, 2) })).toEqual({
      kind: 'complete',
      sampleIndices: [0, 1, 2],
    })
  })

  it('asks for distinct samples, and ends', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        (fails, nSamplesPerPrompt) => {
          const members: Parameters<typeof completeGroup>[0]['members'][number][] = []
          const next = () => completeGroup({ members, nSamplesPerPrompt, maxSamples: 12 })
          for (let step = next(); step.kind === 'sample'; step = next())
            members.push(
              ...step.sampleIndices.map(sampleIndex => ({
                sampleIndex,
                outcome: fails[sampleIndex] ? ('lost' as const) : ('scored' as const),
              })),
            )
          expect(members.map(({ sampleIndex }) => sampleIndex)).toEqual(Array.from(members.keys()))
          const end = next()
          if (end.kind === 'complete') expect(end.sampleIndices).toHaveLength(nSamplesPerPrompt)
        },
      ),
    )
  })
})
