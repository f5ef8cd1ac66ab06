/** `logs/`: messages of the pipeline, and metrics and plots of each stage. */
import { existsSync } from 'node:fs'
import { appendFile, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makeDirectory, writeFileAtomic } from '../files/index.js'
import { chart, toPng, toSvg } from '../plot/index.js'
import type { Report } from '../progress/index.js'
import { curvesOf, Run } from '../run/index.js'
import type { PipelineConfig } from './config.js'

const levels = ['debug', 'info', 'warning', 'error'] as const
type Level = (typeof levels)[number]

/** Writes lines with their time to `logs/pipeline.log` and to the terminal, from `logLevel` on. The caller reports errors. */
export class PipelineLog {
  constructor(
    private readonly config: Pick<PipelineConfig, 'saveDir' | 'logLevel'>,
    private readonly report: Report,
  ) {}

  async write(level: Level, text: string): Promise<void> {
    if (levels.indexOf(level) < levels.indexOf(this.config.logLevel)) return
    if (level !== 'error') this.report.line(text)
    const folder = join(this.config.saveDir, 'logs')
    await makeDirectory(folder)
    await appendFile(join(folder, 'pipeline.log'), `${new Date().toISOString()} ${level.toUpperCase()} ${text}\n`)
  }
}

/** The metrics of a stage's run, and a picture of the main ones, under the stage's name. */
export async function keepStageLogs(saveDir: string, directory: string): Promise<void> {
  const folder = join(saveDir, 'logs')
  await makeDirectory(folder)
  const name = basename(directory)
  const metrics = join(directory, 'logs', 'metrics.jsonl')
  if (existsSync(metrics)) await writeFileAtomic(join(folder, `${name}.metrics.jsonl`), await readFile(metrics))
  const view = await Run.read(directory)
  const curves = curvesOf([{ name, view }])
  if (curves.panels.length === 0) return
  const drawing = chart(curves)
  await writeFileAtomic(join(folder, `${name}.svg`), toSvg(drawing))
  await writeFileAtomic(join(folder, `${name}.png`), toPng(drawing))
}
