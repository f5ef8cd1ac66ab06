/**
 * What the recipes share: their flags, stages that are done once per seed, and the table at the end. A stage is a command of
 * Whetstone, which prints its own progress; a finished stage is skipped, a stopped one is resumed.
 *
 *   --model NAME      the model to start from: a directory, or an id of the Hub
 *   --out DIR         where runs and figures are written (default runs/RECIPE)
 *   --seeds LIST      such as 0,1,2 (default 0)
 *   --device NAME     cpu, cuda, cuda:N or auto
 *   --set KEY=VALUE   an option of all trainings, or of one: --set grpo:iterations=20; repeat for more
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const program = fileURLToPath(new URL('../install/whetstone.mjs', import.meta.url))

/** @typedef {Record<string, number>} Figures */
/**
 * @typedef {object} Tools
 * @property {Record<string, string>} given  the flags; names of files that exist are absolute paths
 * @property {(name: string) => string} path  a path among the files of this seed
 * @property {(verb: string, name: string, config: URL, options: Record<string, unknown>) => string} train  trains with a
 *   config file beside the recipe, and returns the directory of the run
 * @property {(name: string, flags: Record<string, string | number>) => import('whetstone/evaluate').EvaluationResult['evaluation']} evaluate
 */

/**
 * Runs `stages` for every seed and prints the figures they return, as mean and spread over the seeds.
 *
 * @param {{ name: string, model: string, data: Record<string, string>, stages: (tools: Tools) => Figures }} recipe
 */
export function runRecipe({ name, model, data, stages }) {
  const text = { type: /** @type {const} */ ('string') }
  const named = { model, ...data }
  const { values } = parseArgs({
    options: {
      out: { ...text, default: `runs/${name}` },
      seeds: { ...text, default: '0' },
      device: { ...text, default: 'auto' },
      set: { ...text, multiple: true, default: [] },
      ...Object.fromEntries(Object.entries(named).map(([key, value]) => [key, { ...text, default: value }])),
    },
  })
  const { set: settings = [], out = '', seeds = '', device = '' } = values
  /** @type {Record<string, string>} */
  const given = { device, out: resolve(out) }
  for (const key of Object.keys(named)) {
    const value = String(/** @type {Record<string, unknown>} */ (values)[key])
    // A name that is a path stays one wherever it is read.
    given[key] = existsSync(value) ? resolve(value) : value
  }
  /** @type {Figures[]} */
  const found = []
  for (const seed of seeds.split(',').map(Number)) {
    /** @type {Figures} */
    const seconds = {}
    const figures = stages(toolsOf(given, { seed, settings, seconds }))
    found.push({ ...figures, ...seconds })
    writeFileSync(join(given.out, 'figures.json'), `${JSON.stringify(found, undefined, 2)}\n`)
  }
  console.log(`\n${table(found)}`)
}

/**
 * @param {Record<string, string>} given
 * @param {{ seed: number, settings: readonly string[], seconds: Figures }} run  `seconds`: filled with how long each stage took
 * @returns {Tools}
 */
function toolsOf(given, { seed, settings, seconds }) {
  const { device, out } = given
  const directory = join(out, `seed-${seed}`)
  mkdirSync(directory, { recursive: true })
  /** @type {Tools['path']} */
  const path = name => join(directory, name)

  /** @param {string} name @param {readonly string[]} args */
  const time = (name, args) => {
    console.log(`\n== seed ${seed}: ${name}`)
    const begun = performance.now()
    const { status, signal } = spawnSync(process.execPath, [program, ...args], { stdio: 'inherit' })
    if (status !== 0) {
      console.error(`${name} ended with ${signal ?? `exit code ${status}`}. The same command continues from here.`)
      process.exit(status ?? 1)
    }
    seconds[`seconds: ${name}`] = (performance.now() - begun) / 1000
  }

  return {
    given,
    path,
    train(verb, name, config, options) {
      const output = path(name)
      const isDone = existsSync(join(output, 'final_model'))
      const resume = existsSync(join(output, 'config.json')) ? ['--resume'] : []
      const own = Object.entries({ device, seed, ...options, output }).map(([key, value]) => `${key}=${value}`)
      const others = settings.flatMap(setting => {
        const [, stage = name, option = setting] = /^([\w-]+):(.*)$/s.exec(setting) ?? []
        return stage === name ? [option] : []
      })
      const flags = [...own, ...others].flatMap(setting => ['--set', setting])
      if (!isDone) time(name, [...verb.split(' '), '--config', fileURLToPath(config), ...flags, ...resume])
      return output
    },
    evaluate(name, flags) {
      const file = path(`${name}.json`)
      const all = { device, ...flags, out: `${file}.part`, answers: path(`${name}.answers.jsonl`) }
      if (!existsSync(file)) {
        time(name, ['eval', ...Object.entries(all).flatMap(([key, value]) => [`--${key}`, `${value}`])])
        renameSync(`${file}.part`, file)
      }
      return JSON.parse(readFileSync(file, 'utf8'))
    },
  }
}

/** Mean and standard deviation of each figure, as Markdown. @param {readonly Figures[]} found */
function table(found) {
  const names = [...new Set(found.flatMap(figures => Object.keys(figures)))]
  const lines = names.map(name => {
    const values = found.filter(figures => name in figures).map(figures => figures[name])
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    const spread = Math.sqrt(squares / Math.max(values.length - 1, 1))
    const digits = Math.abs(mean) >= 10 ? 1 : 3
    const each = values.map(value => value.toFixed(digits)).join(', ')
    return `| ${name} | ${mean.toFixed(digits)} | ${values.length > 1 ? spread.toFixed(digits) : ''} | ${each} |`
  })
  return ['| figure | mean | spread | each seed |', '| --- | --- | --- | --- |', ...lines].join('\n')
}
