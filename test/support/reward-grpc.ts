import { readFileSync } from 'node:fs'
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  type status,
} from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import {
  type InferRequest,
  type InferResponse,
  inferenceService,
  type ModelMetadata,
} from '../../src/reward/remote/open-inference.js'

export const certificate = readFileSync(new URL('../fixtures/tls/loopback-cert.pem', import.meta.url))
export const certificateKey = readFileSync(new URL('../fixtures/tls/loopback-key.pem', import.meta.url))

export interface GrpcFault {
  code: status
  details: string
}

export interface GrpcBehaviour {
  /** Left out: the server does not implement it. */
  metadata?: () => ModelMetadata
  /** Undefined: never answers. */
  infer: (
    request: InferRequest,
    index: number,
  ) => InferResponse | GrpcFault | Promise<InferResponse | GrpcFault> | undefined
}

/** An Open Inference server on loopback; it goes when the test does. */
export async function inferenceServer(
  behave: GrpcBehaviour,
  options: { tls?: 'on'; port?: number; answerBytes?: Buffer } = {},
) {
  const asked: InferRequest[] = []
  const metadata: Metadata[] = []
  const server = new Server()
  type Call = ServerUnaryCall<InferRequest, InferResponse>
  const handlers = {
    ModelInfer: async (call: Call, callback: sendUnaryData<InferResponse>) => {
      metadata.push(call.metadata)
      const answer = await behave.infer(call.request, asked.push(call.request) - 1)
      if (answer === undefined) return
      if ('code' in answer) callback({ ...answer, metadata: new Metadata() })
      else callback(null, answer)
    },
    ...(behave.metadata
      ? {
          ModelMetadata: (_: unknown, callback: sendUnaryData<ModelMetadata>) => callback(null, behave.metadata!()),
        }
      : {}),
  }
  const { answerBytes } = options
  const service = answerBytes
    ? { ...inferenceService, ModelInfer: { ...inferenceService.ModelInfer!, responseSerialize: () => answerBytes } }
    : inferenceService
  server.addService(service, handlers as never)
  const credentials =
    options.tls === 'on'
      ? ServerCredentials.createSsl(null, [{ cert_chain: certificate, private_key: certificateKey }])
      : ServerCredentials.createInsecure()
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${options.port ?? 0}`, credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  onTestFinished(() => server.forceShutdown())
  return { target: `127.0.0.1:${port}`, asked, metadata, server }
}

/** Rewards as FP32, raw or typed. */
export function rewardsAnswer(numbers: number[], more: Partial<InferResponse> = {}): InferResponse {
  return {
    model_name: 'rm',
    id: '',
    outputs: [{ name: 'REWARD', datatype: 'FP32', shape: [numbers.length, 1], contents: { fp32_contents: numbers } }],
    raw_output_contents: [],
    ...more,
  }
}
