import type { Device } from '../tensor/index.js';
/** What the doctor needs of the tensor room; a narrow view, so that the checks can be shown a room that computes wrongly. */
export interface TensorRoom {
    backend(): {
        libtorchVersion: string;
        operatorCount: number;
        threads: number;
        /** libtorch's own description of how it was built. */
        config: string;
        cuda: {
            available: boolean;
            graphs: boolean;
            devices: {
                name: string;
                totalBytes: number;
            }[];
        };
    };
    Tensor: {
        from(values: number[], options: {
            shape: readonly number[];
            dtype: 'float32';
            device: Device;
            requiresGrad: boolean;
        }): CheckedTensor;
    };
}
export interface CheckedTensor {
    matmul(other: this): this;
    sum(): this;
    backward(): void;
    readonly grad: this | undefined;
    data(): Promise<ArrayLike<number | bigint>>;
    dispose(): void;
}
export interface Check {
    name: string;
    ok: boolean;
    detail: string;
}
export declare function checkArithmetic({ Tensor }: TensorRoom, device: Device): Promise<Check[]>;
