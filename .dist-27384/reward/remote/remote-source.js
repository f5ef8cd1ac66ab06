import { RewardConfigError } from '../errors.js';
import { grpcReward } from './grpc-source.js';
import { httpReward } from './http-source.js';
/** A remote reward by the scheme of its URL: http and https, or grpc and grpcs. */
export function remoteReward(options) {
    const urls = typeof options.url === 'string' ? [options.url] : options.url;
    const grpc = urls.filter(url => /^grpcs?:/.test(url));
    if (grpc.length === 0)
        return httpReward(options);
    if (grpc.length < urls.length)
        throw new RewardConfigError(`reward "${options.name}": the urls are replicas of one server: all of http or all of grpc`);
    return grpcReward(options);
}
//# sourceMappingURL=remote-source.js.map