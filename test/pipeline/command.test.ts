/** The command as it is typed. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { help, run } from '../../src/cli/pipeline.js'
import { takeLock } from '../../src/run/index.js'
import { capturedOutput } from '../support/cli.js'
import { fresh } from '../support/files.js'
import { quickly } from '../support/pipeline.js'

const printed = capturedOutput()

function configFile(options: Parameters<typeof quickly>[0] = {}): { file: string; saveDir: string } {
  const file = `${fresh('pipeline')}.yaml`
  const config = quickly(options)
  writeFileSync(file, stringify(config))
  return { file, saveDir: config.saveDir! }
}

test('--dry-run checks every stage, prints what is in force, and writes nothing', async () => {
  const { file, saveDir } = configFile()
  expect(await run(['--config', file, '--dry-run', '--set', 'ppoIterations=5'])).toBe(0)
  expect(printed.stdout).toMatch(/ppoIterations: 5 +# --set/)
  for (const stage of ['sft', 'reward', 'ppo']) expect(printed.stdout).toContain(`# stage ${stage}`)
  expect(existsSync(saveDir)).toBe(false)
  expect(printed.stderr).not.toContain('Error')
})

test('--stages runs those alone, in their order', async () => {
  const { file, saveDir } = configFile()
  expect(await run(['--config', file, '--stages', 'reward,sft'])).toBe(0)
  expect(existsSync(join(saveDir, 'reward_model/best_model'))).toBe(true)
  expect(existsSync(join(saveDir, 'ppo'))).toBe(false)
  await expect(run(['--config', file, '--stages', 'sft,rewards'])).rejects.toThrow(
    '--stages: there is no stage "rewards"; did you mean reward?',
  )
})

test('--dry-run refuses what a run refuses at its start', async () => {
  const { file, saveDir } = configFile()
  const both = async (args: string[], message: string | RegExp): Promise<void> => {
    for (const more of [[], ['--dry-run']])
      await expect(run(['--config', file, ...args, ...more])).rejects.toThrow(message)
  }
  // Ended before it was finished: the record says so, and its inputs are those of a run now.
  expect(await run(['--config', file, '--stages', 'sft'])).toBe(0)
  const record = join(saveDir, 'sft/stage.json')
  writeFileSync(record, readFileSync(record, 'utf8').replace('"finished"', '"started"'))
  await both([], /sft: this stage was started and not finished/)
  await both(['--resume', '--set', 'sftLr=0.5'], /options or inputs of this stage have changed since it started/)
  await both(['--resume', '--allow-change', 'sftLrr'], 'allowChange: there is no option "sftLrr"; did you mean sftLr')
  const lock = await takeLock(join(saveDir, 'lock'))
  await both(['--resume'], `process ${process.pid} has been using this run since`)
  await lock.release()
  expect(await run(['--config', file, '--dry-run', '--resume', '--stages', 'sft'])).toBe(0)
})

test('the help has every option', () => {
  for (const name of [
    '--sft-data-path',
    '--freeze-reward-backbone',
    '--ppo-mini-batch-size',
    '--sample-prompts',
    '--stages',
    '--resume',
  ])
    expect(help(['--all'])).toContain(name)
})
