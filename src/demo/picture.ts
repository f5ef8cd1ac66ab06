/** The curves of a demo, as SVG and PNG. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChartRun, chart, toPng, toSvg } from '../plot/index.js'
import { curveNames } from './run-demo.js'

/** Gives the files that were written. */
export async function drawCurves(directory: string, runs: readonly ChartRun[]): Promise<string[]> {
  const drawing = chart({
    title: 'Reinforcement learning from scratch: held-out prompts, by iteration',
    across: 'iteration (0 is SFT)',
    runs,
    panels: [
      { metric: curveNames.accuracy, axis: 'share of right answers' },
      { metric: curveNames.reward, axis: 'mean score' },
    ],
  })
  const files = { svg: join(directory, 'curves.svg'), png: join(directory, 'curves.png') }
  await writeFile(files.svg, toSvg(drawing))
  await writeFile(files.png, toPng(drawing))
  return Object.values(files)
}
