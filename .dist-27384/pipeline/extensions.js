/** Parts of the pipeline that a program may make itself. */
import { didYouMean, InputError } from '../errors/index.js';
import { LocalModel } from '../model/index.js';
import { Tokenizer } from '../text/index.js';
const names = ['loadTokenizer', 'loadBaseModel', 'createRewardModel', 'createPreferenceLoss'];
/** A misspelt function would never be called. */
export function checkExtensions(extensions) {
    for (const [name, given] of Object.entries(extensions)) {
        if (!names.includes(name))
            throw new InputError(`there is no setting "${name}"${didYouMean(name, [...names, 'report', 'layers'])}`);
        if (given !== undefined && typeof given !== 'function')
            throw new InputError(`${name}: expected a function`);
    }
}
/** What a function gave is a model, or the directory of one. */
export function checkModel(name, made) {
    if (typeof made === 'string' || made instanceof LocalModel)
        return made;
    throw new InputError(`${name}: expected the directory of a model, or a LocalModel; got ${typeof made}`);
}
export function checkTokenizer(made) {
    if (made instanceof Tokenizer)
        return made;
    throw new InputError(`loadTokenizer: expected a Tokenizer, such as Tokenizer.load(DIR) gives; got ${typeof made}`);
}
/** A loss whose gradients are of another number of pairs would train on nonsense. */
export function checkLoss(loss) {
    if (typeof loss !== 'function')
        throw new InputError(`createPreferenceLoss: expected a function; got ${typeof loss}`);
    return call => {
        const result = loss(call);
        if (typeof result?.value !== 'number' || result.gradients?.length !== call.samples.length || !result.statistics)
            throw new InputError(`createPreferenceLoss: expected {value, gradients, statistics} with gradients of ${call.samples.length} pairs`, { remedy: 'rewardModelLoss gives them; docs/losses.md has an example.' });
        return result;
    };
}
/** Functions of a program that take part in a stage's training. */
export function stageFunctions(stage, { createPreferenceLoss, createRewardModel }) {
    return stage === 'reward' ? { createPreferenceLoss, createRewardModel } : {};
}
//# sourceMappingURL=extensions.js.map