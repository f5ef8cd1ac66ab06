import { setTimeout as sleep } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type FailedReward,
  type GrpcRewardOptions,
  grpcReward,
  RewardComputationEngine,
  type RewardOutcome,
  remoteReward,
} from '../../src/reward/index.js'
import type { InferResponse, ModelMetadata } from '../../src/reward/remote/open-inference.js'
import { answered } from '../support/answered.js'
import { certificate, type GrpcBehaviour, inferenceServer, rewardsAnswer } from '../support/reward-grpc.js'
import { freePort } from '../support/reward-http.js'
import { sample, samples } from '../support/reward-samples.js'

function engineFor(options: Omit<GrpcRewardOptions, 'name'>): RewardComputationEngine {
  const engine = new RewardComputationEngine({ sources: [grpcReward({ name: 'rm', ...options })] })
  onTestFinished(() => engine.close())
  return engine
}
const rewardOf = (outcome: RewardOutcome) => (outcome.kind === 'failed' ? outcome.reason : outcome.reward)

const tensor = (name: string, datatype: string, shape: string[]) => ({ name, datatype, shape })
const metadataOf = (inputs: ModelMetadata['inputs'], outputs = [tensor('REWARD', 'FP32', ['-1', '1'])]) => ({
  metadata: (): ModelMetadata => ({ name: 'rm', inputs, outputs }),
})

/** Texts of a raw BYTES tensor. */
function texts(raw: Uint8Array): string[] {
  const bytes = Buffer.from(raw)
  const found: string[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at)
    found.push(bytes.toString('utf8', at + 4, at + 4 + length))
    at += 4 + length
  }
  return found
}

describe('Open Inference over gRPC', () => {
  it('sends texts raw to a server that tells nothing of itself, and reads typed rewards', async () => {
    const server = await inferenceServer({
      infer: request =>
        rewardsAnswer(
          texts(request.raw_input_contents[0]!).map(text => text.length),
          { id: request.id },
        ),
    })
    const engine = engineFor({ url: `grpc://${server.target}/rm`, modelVersion: '2', batchSize: 2 })
    const { outcomes } = await engine.compute([sample('é'), sample(''), sample('abc')])
    expect(outcomes.map(rewardOf)).toEqual([4, 3, 6])
    expect(server.asked).toHaveLength(2)
    expect(server.asked[0]).toMatchObject({
      model_name: 'rm',
      model_version: '2',
      inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: ['2', '1'] }],
      outputs: [{ name: 'REWARD' }],
    })
  })

  it('sends what the metadata asks for, typed where it is told to, and reads raw rewards of every width', async () => {
    const inputs = [
      tensor('PROMPT', 'BYTES', ['-1']),
      tensor('RESPONSE', 'BYTES', ['-1', '1']),
      tensor('LABEL', 'BYTES', ['-1', '1']),
      tensor('REFERENCE', 'BYTES', ['-1', '1']),
      tensor('INPUT_IDS', 'INT64', ['-1', '-1']),
      tensor('ATTENTION_MASK', 'INT64', ['-1', '-1']),
    ]
    const raws: Record<string, number[]> = {
      FP32: [...new Uint8Array(Float32Array.of(0.5, -2).buffer)],
      FP64: [...new Uint8Array(Float64Array.of(0.5, -2).buffer)],
      FP16: [0x00, 0x38, 0x00, 0xc0],
      BF16: [0x00, 0x3f, 0x00, 0xc0],
      INT64: [...new Uint8Array(BigInt64Array.of(3n, -2n).buffer)],
      INT8: [3, 0xfe],
    }
    for (const [datatype, raw] of Object.entries(raws)) {
      const output = tensor('score', datatype, ['2'])
      const server = await inferenceServer({
        ...metadataOf(inputs, [output]),
        infer: () => ({ model_name: 'rm', id: '', outputs: [output], raw_output_contents: [Uint8Array.from(raw)] }),
      })
      const engine = engineFor({ url: `grpc://${server.target}`, model: 'rm', contents: 'typed' })
      const { outcomes } = await engine.compute([
        sample('a', { label: 'x', target: 'r', sequence: answered(Int32Array.of(1, 2), Int32Array.of(3)) }),
        sample('b', { target: ['r', 's'], sequence: answered(Int32Array.of(4), Int32Array.of(5)) }),
      ])
      expect(outcomes.map(rewardOf), datatype).toEqual(datatype.startsWith('INT') ? [3, -2] : [0.5, -2])
      const sent = server.asked[0]!.inputs.map(({ name, shape, contents }) => [
        name,
        shape,
        contents!.bytes_contents!.length > 0
          ? contents!.bytes_contents!.map(bytes => Buffer.from(bytes).toString())
          : contents!.int64_contents,
      ])
      expect(sent).toEqual([
        ['PROMPT', ['2'], ['Q: ', 'Q: ']],
        ['RESPONSE', ['2', '1'], ['a', 'b']],
        ['LABEL', ['2', '1'], ['x', '']],
        ['REFERENCE', ['2', '1'], ['r', '["r","s"]']],
        ['INPUT_IDS', ['2', '3'], ['1', '2', '3', '4', '5', '0']],
        ['ATTENTION_MASK', ['2', '3'], ['1', '1', '1', '1', '1', '0']],
      ])
    }
  })

  it('asks for the metadata once', async () => {
    let asked = 0
    const server = await inferenceServer({
      metadata: () => {
        asked++
        return {
          name: 'rm',
          inputs: [tensor('TEXT', 'BYTES', ['-1', '1'])],
          outputs: [tensor('REWARD', 'FP32', ['-1'])],
        }
      },
      infer: () => rewardsAnswer([1]),
    })
    const engine = engineFor({ url: `grpc://${server.target}/rm`, batchSize: 1, concurrency: 1 })
    expect((await engine.compute(samples(4))).outcomes.map(rewardOf)).toEqual([1, 1, 1, 1])
    expect(asked).toBe(1)
  })

  it('over TLS, with a key that is in no message', async () => {
    const server = await inferenceServer(
      {
        infer: (_, index) =>
          index === 0 ? rewardsAnswer([1]) : { code: status.INTERNAL, details: 'saw Bearer very-secret-key' },
      },
      { tls: 'on' },
    )
    const options = {
      url: `grpcs://${server.target.replace('127.0.0.1', 'localhost')}/rm`,
      apiKey: 'very-secret-key',
      retries: 0,
    }
    const engine = engineFor({ ...options, tls: { ca: certificate } })
    expect((await engine.compute(samples(1))).outcomes.map(rewardOf)).toEqual([1])
    expect(server.metadata[0]!.get('authorization')).toEqual(['Bearer very-secret-key'])
    const [failed] = (await engine.compute(samples(1))).outcomes as FailedReward[]
    expect(failed).toMatchObject({ reason: 'server-error' })
    expect(failed!.message).toContain('saw Bearer [hidden]')
    // Without its certificate authority the server is not trusted, and nothing is sent to it.
    expect((await engineFor(options).compute(samples(1))).outcomes).toMatchObject([
      { reason: 'unreachable', message: expect.stringMatching(/certificate is self-signed.*tls\.ca/) },
    ])
    expect(server.asked).toHaveLength(2)
  })

  const raw = (bytes: number[], datatype = 'FP32', shape = [2, 1]): InferResponse => ({
    model_name: 'rm',
    id: '',
    outputs: [{ name: 'REWARD', datatype, shape }],
    raw_output_contents: [Uint8Array.from(bytes)],
  })
  it.each<[string, GrpcBehaviour, unknown, RegExp?]>([
    ['gives too few', { infer: () => rewardsAnswer([1]) }, 'wrong-count'],
    ['gives too many', { infer: () => rewardsAnswer([1, 2, 3]) }, 'wrong-count'],
    ['gives NaN', { infer: () => rewardsAnswer([Number.NaN, Number.NEGATIVE_INFINITY]) }, 'non-finite'],
    [
      'gives no output',
      { infer: () => rewardsAnswer([1, 2], { outputs: [] }) },
      'protocol',
      /no output REWARD.*there are: none/,
    ],
    ['gives texts', { infer: () => raw([], 'BYTES') }, 'protocol', /BYTES where numbers are expected/],
    ['gives half a number', { infer: () => raw([1, 2, 3]) }, 'protocol', /3 bytes are no whole number of FP32/],
    [
      'gives another shape than it says',
      { infer: () => raw([0, 0, 0, 0, 0, 0, 0, 0], 'FP32', [3]) },
      'protocol',
      /2 numbers in a shape of \[3\]/,
    ],
    [
      'gives 16-bit floats without raw contents',
      { infer: () => ({ ...raw([], 'FP16'), raw_output_contents: [] }) },
      'protocol',
      /neither raw nor typed FP16/,
    ],
    [
      'answers another request',
      { infer: () => rewardsAnswer([1, 2], { id: 'other' }) },
      'protocol',
      /belongs to another request/,
    ],
    [
      'wants what we have not',
      { ...metadataOf([tensor('PIXELS', 'FP32', ['-1'])]), infer: () => rewardsAnswer([1, 2]) },
      'refused',
      /takes a tensor PIXELS/,
    ],
    [
      'wants texts as numbers',
      { ...metadataOf([tensor('TEXT', 'FP32', ['-1'])]), infer: () => rewardsAnswer([1, 2]) },
      'refused',
      /takes TEXT as FP32/,
    ],
    [
      'wants references',
      { ...metadataOf([tensor('REFERENCE', 'BYTES', ['-1'])]), infer: () => rewardsAnswer([1, 2]) },
      'input',
      /the sample has none/,
    ],
    [
      'has several outputs',
      {
        ...metadataOf([tensor('TEXT', 'BYTES', ['-1'])], [tensor('a', 'FP32', []), tensor('b', 'FP32', [])]),
        infer: () => rewardsAnswer([1, 2]),
      },
      'refused',
      /outputs are a, b/,
    ],
    [
      'does not know the model',
      { infer: () => ({ code: status.NOT_FOUND, details: 'no model rm' }) },
      'refused',
      /NOT_FOUND: no model rm/,
    ],
    [
      'is down',
      { infer: () => ({ code: status.UNAVAILABLE, details: 'loading' }) },
      'unreachable',
      /\(tried 2 times\)/,
    ],
    [
      'is busy',
      { infer: () => ({ code: status.RESOURCE_EXHAUSTED, details: 'queue full' }) },
      'overloaded',
      /\(tried 2 times\)/,
    ],
    ['fails', { infer: () => ({ code: status.INTERNAL, details: 'boom' }) }, 'server-error', /\(tried 2 times\)/],
    ['never answers', { infer: () => undefined }, 'timeout', /no answer within 1 s/],
  ])('a server that %s', async (_, behave, reason, message = /./) => {
    const server = await inferenceServer(behave)
    const engine = engineFor({
      url: `grpc://${server.target}/rm`,
      retries: 1,
      deadlineMs: reason === 'timeout' ? 1_000 : 20_000,
    })
    const { outcomes } = await engine.compute(samples(2))
    expect(outcomes.map(rewardOf)).toEqual([reason, reason])
    expect((outcomes[0] as FailedReward).message).toMatch(message)
  })

  it('a server that gives NaN for one sample fails that one', async () => {
    const server = await inferenceServer({ infer: () => rewardsAnswer([1, Number.NaN, 3]) })
    const { outcomes } = await engineFor({ url: `grpc://${server.target}/rm` }).compute(samples(3))
    expect(outcomes.map(rewardOf)).toEqual([1, 'non-finite', 3])
  })

  it('an answer that is no message of the protocol is not guessed at', async () => {
    const answerBytes = Buffer.from([0x2a, 0xff, 0xff, 0x01, 0x00])
    const server = await inferenceServer({ infer: () => rewardsAnswer([1]) }, { answerBytes })
    const { outcomes } = await engineFor({ url: `grpc://${server.target}/rm`, retries: 1 }).compute(samples(1))
    expect(outcomes.map(rewardOf)).toEqual(['protocol'])
    expect(server.asked).toHaveLength(2)
  })

  it('a server that comes up later is waited for; one that dies is replaced by another', async () => {
    const port = await freePort()
    const engine = engineFor({ url: `grpc://127.0.0.1:${port}/rm`, retries: 10 })
    const computing = engine.compute(samples(1))
    await sleep(300)
    const first = await inferenceServer({ infer: () => rewardsAnswer([1]) }, { port })
    expect((await computing).outcomes.map(rewardOf)).toEqual([1])
    const second = await inferenceServer({ infer: () => rewardsAnswer([2]) })
    const both = engineFor({
      url: [`grpc://${first.target}/rm`, `grpc://${second.target}/rm`],
      concurrency: 1,
      batchSize: 1,
    })
    await both.compute(samples(4))
    expect(second.asked.length).toBe(2)
    first.server.forceShutdown()
    expect((await both.compute(samples(4))).outcomes.map(rewardOf)).toEqual([2, 2, 2, 2])
  })

  it('addresses without a model or a scheme are refused; the scheme chooses the protocol', () => {
    expect(() => grpcReward({ name: 'rm', url: 'grpc://host:1' })).toThrow(/no model; write it after the address/)
    expect(() => grpcReward({ name: 'rm', url: 'host:1/rm' })).toThrow(/expected grpc:\/\/host:port/)
    expect(() => remoteReward({ name: 'rm', url: ['http://a', 'grpc://b/rm'] })).toThrow(/all of http or all of grpc/)
  })
})
