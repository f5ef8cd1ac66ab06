/** The curves of a demo, as SVG and PNG. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChartRun, chart, toPng, toSvg } from '../plot/index.js'
import { curveNames } from './run-demo.js'

/** Gives the files that were written. */
export async function drawCurves(directory: string, runs: readonly ChartRun[]): Promise<string[]> {
  const drawing = chart({ runs, metrics: Object.values(curveNames) })
  const files = { svg: join(directory, 'curves.svg'), png: join(directory, 'curves.png') }
  await writeFile(files.svg, toSvg(drawing))
  await writeFile(files.png, toPng(drawing))
  return Object.values(files)
}
