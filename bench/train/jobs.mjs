/** Trainings as a user starts them, timed by what they leave in their run directories. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { silentReport } from 'whetstone/train'
import { preferenceSchema, resolveRlConfig, runPreference, runRl, runSft, sftSchema } from '#whetstone/train'

/**
 * @typedef {{ step: number, time: string, values: Record<string, number> }} Line
 * @typedef {{ seconds: number, tokens: number, values: Record<string, number> }} Step
 */

let runs = 0
const noSignal = () => new AbortController().signal

/**
 * Every step after the first: seconds from the end of the one before to its own end, by the times of their metrics. What a step
 * writes is in it.
 *
 * @param {string} run @param {(values: Record<string, number>) => number} tokensOf
 * @returns {Promise<Step[]>}
 */
async function stepsOf(run, tokensOf) {
  const text = await readFile(join(run, 'logs/metrics.jsonl'), 'utf8')
  /** @type {Line[]} */
  const lines = text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
  return lines.slice(1).map(({ time, values }, i) => ({
    seconds: (Date.parse(time) - Date.parse(lines[i].time)) / 1e3,
    tokens: tokensOf(values),
    values,
  }))
}

/** @param {{ directory: string }} world @param {Record<string, unknown>} options */
export async function rlSteps({ directory }, options) {
  const output = join(directory, `run-${runs++}`)
  const { config, origins } = resolveRlConfig([
    { origin: 'bench', values: { chatTemplate: 'none', device: 'cpu', output, ...options } },
  ])
  await runRl({ config, origins, resume: false, allowChange: [], report: silentReport, signal: noSignal() })
  return stepsOf(output, values => values['samples/trained'] * values['length/mean'])
}

/** @param {{ directory: string }} world @param {Record<string, unknown>} options */
export async function sftSteps({ directory }, options) {
  const output = join(directory, `run-${runs++}`)
  const config = sftSchema.parse({ device: 'cpu', output, ...options })
  await runSft({ config, origins: {}, resume: false, allowChange: [], report: silentReport, signal: noSignal() })
  return stepsOf(output, values => values['data/tokens'])
}

/**
 * And the seconds of asking the reference, once for all rows.
 *
 * @param {{ directory: string }} world @param {Record<string, unknown>} options
 */
export async function preferenceSteps({ directory }, options) {
  const output = join(directory, `run-${runs++}`)
  const config = preferenceSchema.parse({ device: 'cpu', output, chatTemplate: 'none', ...options })
  let reference = 0
  /** @type {import('whetstone/train').Report} */
  const report = {
    ...silentReport,
    transfer: label => {
      const start = performance.now()
      return {
        at() {},
        end() {
          if (label.includes('reference log-prob')) reference += (performance.now() - start) / 1e3
        },
      }
    },
  }
  await runPreference({ config, origins: {}, resume: false, allowChange: [], report, signal: noSignal() })
  return { steps: await stepsOf(output, values => values['data/tokens']), reference }
}
