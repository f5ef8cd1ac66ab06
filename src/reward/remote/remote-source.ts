import { RewardConfigError } from '../errors.js'
import type { RewardSource } from '../source.js'
import { type GrpcRewardOptions, grpcReward } from './grpc-source.js'
import { type HttpRewardOptions, httpReward } from './http-source.js'

/** A remote reward by the scheme of its URL: http(s) or grpc(s). */
export function remoteReward(options: HttpRewardOptions | GrpcRewardOptions): RewardSource {
  const urls = typeof options.url === 'string' ? [options.url] : options.url
  const grpc = urls.filter(url => /^grpcs?:/.test(url))
  if (grpc.length === 0) return httpReward(options as HttpRewardOptions)
  if (grpc.length < urls.length)
    throw new RewardConfigError(
      `reward "${options.name}": the urls are replicas of one server: all of http or all of grpc`,
    )
  return grpcReward(options as GrpcRewardOptions)
}
