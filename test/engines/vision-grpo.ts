/** GRPO on prompts with pictures through a real server: new weights are proved with an image; stopped, resumed and replayed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EngineType, type StartedEngine, startEngine } from '../../src/launch/index.js'
import { replayRl } from '../../src/train/rl/index.js'
import { fresh } from '../support/files.js'
import { startMs } from '../support/real-servers.js'
import { finalWeights, letterReward, metricLines, quickly, start } from '../support/rl.js'
import { eventLines } from '../support/through-engine.js'
import { visionDirectory } from '../support/vision-directory.js'
import { pictureFolder, rowsBeside } from '../support/vision-task.js'

export interface VisionGrpoOptions {
  readonly type: EngineType
  readonly videos: 'taken' | 'refused'
}

export function describeVisionGrpo({ type, videos }: VisionGrpoOptions): void {
  describe(`GRPO with pictures through ${type}`, async () => {
    const { directory: model } = visionDirectory('qwen2_5_vl')
    const { folder, names } = await pictureFolder(6)
    const [a, b, c, d] = names.map(({ name }) => name)
    const film = { frames: [a, b, c], fps: 3 }
    const rows = [
      { prompt: 'Which colour?', images: [a] },
      { prompt: 'Compare <image> with <image>', images: [b, c] },
      ...(videos === 'taken' ? [{ prompt: 'What happens?', videos: [film] }] : []),
      { prompt: 'Say something' },
      { prompt: 'And this one?', images: [d] },
    ]
    const data = rowsBeside(folder, rows)
    const options = (more: object) =>
      quickly({
        ...{ algorithm: 'grpo', model, data, rewards: letterReward, output: fresh('run'), chatTemplate: 'auto' },
        ...{ rolloutBatchSize: 4, nSamplesPerPrompt: 4, maxNewTokens: 6, iterations: 4, optimizer: { lr: 3e-3 } },
        ...more,
      }) as { output: string }
    let server: StartedEngine | undefined
    beforeAll(async () => {
      const given = { type, model, device: 'cpu', dtype: 'float32', maxLength: 512, loraRank: 4 } as const
      server = await startEngine({ ...given, readyTimeoutMs: startMs })
    })
    afterAll(() => server?.stop())

    /** The rewards of a run are not compared: seeds of servers differ. */
    const expectTrained = async (output: string, iterations: number) => {
      const lines = metricLines(output)
      expect(lines).toHaveLength(iterations)
      for (const { values } of lines) {
        // Samples of older weights have a gap of their own.
        if ((values['staleness/mean'] ?? 0) > 0) continue
        // Servers leave the four placeholders out of their distribution: of 2,000 tokens with random weights they have a share.
        expect(values['gap/max']).toBeLessThan(0.02)
        expect(values['gap/mean']).toBeLessThan(4e-3)
      }
      for (const { values } of lines) expect(values['drops/generation: media'] ?? 0).toBe(0)
      expect(finalWeights(output).equals(finalWeights(model, '.'))).toBe(false)
      // Those that training began with, and those after each iteration but the last.
      const proved = eventLines(output).filter(({ what }) => what === 'proved')
      expect(proved.length).toBeGreaterThanOrEqual(iterations - 1)
      expect(await replayRl(output)).toMatchObject({ iterations, mismatches: [], notCompared: [] })
      const gaps = lines.map(({ values }) => ((values['staleness/mean'] ?? 0) > 0 ? 0 : values['gap/max']!))
      console.log(`${type}: gap of samples at most ${Math.max(...gaps).toExponential(1)}, ${proved.length} proofs`)
    }

    test('all weights: stopped while it updates and while it generates, resumed and replayed', async () => {
      const given = options({ generator: { type, urls: [server!.url], patienceMinutes: startMs / 60_000 } })
      for (const [i, stopAt] of ['updating', 'generating'].entries())
        expect((await start(given, { stopAt, resume: i > 0 })).outcome).toBe('stopped')
      expect((await start(given, { resume: true })).outcome).toBe('finished')
      await expectTrained(given.output, 4)
    }, 1_800_000)

    test(`an adapter of the language layers${type === 'vllm' ? ', with a rollout ahead' : ''}`, async () => {
      // The server has the weights of the run before: an adapter is loaded over those that it was started with.
      await server!.stop()
      const lora = { rank: 4, alpha: 8 }
      const ahead = type === 'vllm' ? { maxStaleness: 1, tisCap: 2 } : {}
      const given = options({ lora, generator: { type }, iterations: 3, saveTrajectories: true, ...ahead })
      expect((await start(given)).outcome).toBe('finished')
      await expectTrained(given.output, 3)
    }, 1_800_000)
  })
}
