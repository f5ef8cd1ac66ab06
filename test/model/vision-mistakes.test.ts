/**
 * Mistakes that are easily made with images move log-probabilities far beyond what the golden tests allow, and by as much as they
 * moved another implementation.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Grid, SegmentGroups, TowerLayout } from '../../src/decoder/index.js'
import type { MediaPositions } from '../../src/media/index.js'
import { LocalModel } from '../../src/model/index.js'
import { readVisionCase, visionFamilies } from '../support/vision-models.js'

interface Mistake {
  layout?: (layout: TowerLayout, grids: readonly Grid[]) => TowerLayout
  positions?: (positions: MediaPositions) => MediaPositions
}

const made: { mistake: Mistake } = vi.hoisted(() => ({ mistake: {} }))

vi.mock('../../src/decoder/vision/layout.js', async original => {
  const right = await original<typeof import('../../src/decoder/vision/layout.js')>()
  const towerLayout: typeof right.towerLayout = (grids, config) => {
    const layout = right.towerLayout(grids, config)
    return made.mistake.layout?.(layout, grids) ?? layout
  }
  return { ...right, towerLayout }
})

vi.mock('../../src/media/positions.js', async original => {
  const right = await original<typeof import('../../src/media/positions.js')>()
  const mediaPositions: typeof right.mediaPositions = (sequence, rules) => {
    const positions = right.mediaPositions(sequence, rules)
    return made.mistake.positions?.(positions) ?? positions
  }
  return { ...right, mediaPositions }
})

/** All frames of an item in one segment. */
function wholeItems(grids: readonly Grid[]): SegmentGroups {
  let start = 0
  const groups = grids.map(([time, height, width]) => {
    const rows = time * height * width
    start += rows
    return { start: start - rows, rows, length: rows }
  })
  return { order: undefined, inverse: undefined, groups }
}

const countedAsText = ({ time }: MediaPositions): MediaPositions => {
  const rows = Int32Array.from(time, (_, i) => i)
  return { time: rows, height: rows, width: rows, delta: 0 }
}

/** By the names they have in the golden cases. Not every family can make each of them. */
const mistakes: Record<string, Mistake> = {
  'the same again': {},
  'positions counted as for text': { positions: countedAsText },
  'height and width swapped in positions': {
    positions: ({ height, width, ...rest }) => ({ ...rest, height: width, width: height }),
  },
  'no rotary positions in the tower': {
    layout: layout => ({ ...layout, rows: layout.rows.map(() => 0), columns: layout.columns.map(() => 0) }),
  },
  'height and width swapped in the tower': {
    layout: layout => ({ ...layout, rows: layout.columns, columns: layout.rows }),
  },
  'frames of a video see each other in the tower': {
    layout: (layout, grids) => ({ ...layout, frames: wholeItems(grids) }),
  },
  'full attention in every tower block': { layout: layout => ({ ...layout, windows: layout.frames }) },
  'window attention in every tower block': { layout: layout => ({ ...layout, frames: layout.windows! }) },
  'no position embedding': {
    layout: ({ table, ...layout }) => ({ ...layout, table: table && { ...table, shares: table.shares.map(() => 0) } }),
  },
}

afterEach(() => {
  made.mistake = {}
})

describe.each(visionFamilies)('%s', async name => {
  const { directory, golden, sequences } = await readVisionCase(name)

  test.each(Object.keys(mistakes).filter(known => known in golden.sensitivity))('%s', async mistake => {
    made.mistake = mistakes[mistake]!
    const model = await LocalModel.load(directory, { role: 'language' })
    const scored = await model.score(sequences)
    model.dispose()
    const moved = scored.flatMap(({ logprobs }, row) =>
      Array.from(logprobs, (value, i) => Math.abs(value - golden.rows[row]!.token_logprobs[i]!)),
    )
    expect(Math.abs(Math.max(...moved) - golden.sensitivity[mistake]!)).toBeLessThan(1e-4)
  })
})
