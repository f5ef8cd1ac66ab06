/**
 * The part of the Open Inference Protocol (KServe and Triton, version 2) over gRPC that a reward client needs. Messages are described for
 * protobufjs in code, so that no .proto file is needed at run time.
 */
import type { ServiceDefinition } from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'

const tensor = {
  fields: {
    name: { type: 'string', id: 1 },
    datatype: { type: 'string', id: 2 },
    shape: { rule: 'repeated', type: 'int64', id: 3 },
    parameters: { keyType: 'string', type: 'InferParameter', id: 4 },
    contents: { type: 'InferTensorContents', id: 5 },
  },
}

const metadata = {
  fields: {
    name: { type: 'string', id: 1 },
    datatype: { type: 'string', id: 2 },
    shape: { rule: 'repeated', type: 'int64', id: 3 },
  },
}

const messages = {
  InferParameter: {
    oneofs: {
      parameter_choice: { oneof: ['bool_param', 'int64_param', 'string_param', 'double_param', 'uint64_param'] },
    },
    fields: {
      bool_param: { type: 'bool', id: 1 },
      int64_param: { type: 'int64', id: 2 },
      string_param: { type: 'string', id: 3 },
      double_param: { type: 'double', id: 4 },
      uint64_param: { type: 'uint64', id: 5 },
    },
  },
  InferTensorContents: {
    fields: {
      bool_contents: { rule: 'repeated', type: 'bool', id: 1 },
      int_contents: { rule: 'repeated', type: 'int32', id: 2 },
      int64_contents: { rule: 'repeated', type: 'int64', id: 3 },
      uint_contents: { rule: 'repeated', type: 'uint32', id: 4 },
      uint64_contents: { rule: 'repeated', type: 'uint64', id: 5 },
      fp32_contents: { rule: 'repeated', type: 'float', id: 6 },
      fp64_contents: { rule: 'repeated', type: 'double', id: 7 },
      bytes_contents: { rule: 'repeated', type: 'bytes', id: 8 },
    },
  },
  ModelMetadataRequest: { fields: { name: { type: 'string', id: 1 }, version: { type: 'string', id: 2 } } },
  ModelMetadataResponse: {
    fields: {
      name: { type: 'string', id: 1 },
      versions: { rule: 'repeated', type: 'string', id: 2 },
      platform: { type: 'string', id: 3 },
      inputs: { rule: 'repeated', type: 'TensorMetadata', id: 4 },
      outputs: { rule: 'repeated', type: 'TensorMetadata', id: 5 },
    },
    nested: { TensorMetadata: metadata },
  },
  ModelInferRequest: {
    fields: {
      model_name: { type: 'string', id: 1 },
      model_version: { type: 'string', id: 2 },
      id: { type: 'string', id: 3 },
      parameters: { keyType: 'string', type: 'InferParameter', id: 4 },
      inputs: { rule: 'repeated', type: 'InferInputTensor', id: 5 },
      outputs: { rule: 'repeated', type: 'InferRequestedOutputTensor', id: 6 },
      raw_input_contents: { rule: 'repeated', type: 'bytes', id: 7 },
    },
    nested: {
      InferInputTensor: tensor,
      InferRequestedOutputTensor: {
        fields: {
          name: { type: 'string', id: 1 },
          parameters: { keyType: 'string', type: 'InferParameter', id: 2 },
        },
      },
    },
  },
  ModelInferResponse: {
    fields: {
      model_name: { type: 'string', id: 1 },
      model_version: { type: 'string', id: 2 },
      id: { type: 'string', id: 3 },
      parameters: { keyType: 'string', type: 'InferParameter', id: 4 },
      outputs: { rule: 'repeated', type: 'InferOutputTensor', id: 5 },
      raw_output_contents: { rule: 'repeated', type: 'bytes', id: 6 },
    },
    nested: { InferOutputTensor: tensor },
  },
}

const service = {
  methods: {
    ModelMetadata: { requestType: 'ModelMetadataRequest', responseType: 'ModelMetadataResponse', comment: '' },
    ModelInfer: { requestType: 'ModelInferRequest', responseType: 'ModelInferResponse', comment: '' },
  },
}

const loaded = fromJSON(
  { nested: { inference: { nested: { ...messages, GRPCInferenceService: service } } } },
  // 64-bit integers are strings: values above 2^53 are not rounded.
  { keepCase: true, longs: String, defaults: true, arrays: true, objects: true },
)

/** `inference.GRPCInferenceService`, for clients and (in tests) servers. */
export const inferenceService = loaded['inference.GRPCInferenceService'] as unknown as ServiceDefinition

export interface TensorContents {
  bool_contents?: boolean[]
  int_contents?: number[]
  int64_contents?: (string | number)[]
  uint_contents?: number[]
  uint64_contents?: (string | number)[]
  fp32_contents?: number[]
  fp64_contents?: number[]
  bytes_contents?: Uint8Array[]
}

export interface InferTensor {
  name: string
  datatype: string
  shape: (string | number)[]
  contents?: TensorContents | null
}

export interface InferRequest {
  model_name: string
  model_version: string
  id: string
  inputs: InferTensor[]
  outputs: { name: string }[]
  raw_input_contents: Uint8Array[]
}

export interface InferResponse {
  model_name: string
  id: string
  outputs: InferTensor[]
  raw_output_contents: Uint8Array[]
}

interface TensorMetadata {
  name: string
  datatype: string
  shape: string[]
}

export interface ModelMetadata {
  name: string
  inputs: TensorMetadata[]
  outputs: TensorMetadata[]
}
