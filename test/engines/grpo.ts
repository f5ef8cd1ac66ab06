/** A short GRPO training through a real server, and one whose server is killed and started anew in the middle. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EngineType, type StartedEngine, startEngine } from '../../src/launch/index.js'
import { fresh } from '../support/files.js'
import { patiently, startMs } from '../support/real-servers.js'
import { modelDirectory } from '../support/rl.js'
import { eventLines, expectEachOnce, margin, trainThrough } from '../support/through-engine.js'

const shape = { hidden: 64, intermediate: 128, heads: 2, kvHeads: 1, headDim: 32, context: 256, tied: false }

export function describeGrpo(type: EngineType): void {
  describe(`GRPO through ${type}`, () => {
    let model: string
    const started: StartedEngine[] = []
    beforeAll(async () => {
      model = await modelDirectory(1, shape)
    })
    afterAll(async () => {
      for (const engine of started) await engine.stop()
    })
    const start = async (port?: number): Promise<StartedEngine> => {
      const place = port === undefined ? {} : { port }
      const options = { type, model, device: 'cpu', dtype: 'float32', readyTimeoutMs: startMs, ...place } as const
      const engine = await startEngine(options)
      started.push(engine)
      return engine
    }

    test('on a server that the run starts and stops, the reward rises as on the local engine', async () => {
      const local = await trainThrough({ model, generator: { type: 'local' } })
      const through = await trainThrough({ model, generator: { type } })
      console.log(`rise: local ${local.rise.toFixed(3)}, ${type} ${through.rise.toFixed(3)}`)
      expect(local.rise).toBeGreaterThan(margin)
      expect(through.rise).toBeGreaterThan(margin)
      const gaps = through.lines.map(({ values }) => values['gap/mean']!)
      expect(Math.max(...gaps)).toBeLessThan(1e-4)
      expect(through.lines.every(({ values }) => values['staleness/mean'] === 0)).toBe(true)
      await expectEachOnce(through.output)
      expect(existsSync(join(through.output, 'logs', `${type}.log`))).toBe(true)
    }, 1_800_000)

    test('a server killed and started anew costs time and nothing else', async () => {
      const output = fresh('run')
      const server = await start()
      const port = Number(new URL(server.url).port)
      const training = trainThrough({
        model,
        generator: { type, urls: [server.url], patienceMinutes: startMs / 60_000 },
        output,
      })
      const metrics = join(output, 'logs', 'metrics.jsonl')
      const iterations = (): number => (existsSync(metrics) ? readFileSync(metrics, 'utf8').split('\n').length - 1 : 0)
      const some = expect.poll(iterations, { ...patiently, interval: 20 }).toBeGreaterThanOrEqual(4)
      await Promise.race([some, training])
      // All of it, and at once.
      process.kill(-server.pid, 'SIGKILL')
      await server.exited
      const before = iterations()
      await start(port)
      const { rise, lines } = await training
      expect(before).toBeLessThan(lines.length)
      expect(rise).toBeGreaterThan(margin)
      for (const { values } of lines) expect(values['gap/mean']).toBeLessThan(1e-4)
      await expectEachOnce(output)
      const happened = (await eventLines(output)).map(({ what }) => what)
      expect(happened).toContain('drained')
      expect(happened).toContain('back')
    }, 2_400_000)
  })
}
