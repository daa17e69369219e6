# misconception: the contiguous copies are what backward needs
# fails: inputs are saved themselves in every dtype and layout
# message: Save gate and up as they came
@triton.jit
def forward_kernel(gate_ptr, up_ptr, out_ptr, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    gate = tl.load(gate_ptr + i, mask=inside).to(WIDE)
    up = tl.load(up_ptr + i, mask=inside).to(WIDE)
    tl.store(out_ptr + i, gate * tl.sigmoid(gate) * up, mask=inside)


@triton.jit
def backward_kernel(grad_ptr, gate_ptr, up_ptr, grad_gate_ptr, grad_up_ptr, n, WIDE: tl.constexpr,
                    FOR_GATE: tl.constexpr, FOR_UP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    grad = tl.load(grad_ptr + i, mask=inside).to(WIDE)
    gate = tl.load(gate_ptr + i, mask=inside).to(WIDE)
    up = tl.load(up_ptr + i, mask=inside).to(WIDE)
    sig = tl.sigmoid(gate)
    if FOR_GATE:
        tl.store(grad_gate_ptr + i, grad * up * sig * (1 + gate * (1 - sig)), mask=inside)
    if FOR_UP:
        tl.store(grad_up_ptr + i, grad * gate * sig, mask=inside)


def wide(tensor):
    return tl.float64 if tensor.dtype == torch.float64 else tl.float32


class TritonSiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        gate, up = gate.contiguous(), up.contiguous()
        ctx.save_for_backward(gate, up)
        out = torch.empty_like(gate)
        n = out.numel()
        forward_kernel[(triton.cdiv(n, 1024),)](gate, up, out, n, WIDE=wide(gate), BLOCK=1024)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        gate, up = (t.contiguous() for t in ctx.saved_tensors)
        grad = grad.contiguous()
        for_gate, for_up = ctx.needs_input_grad
        grad_gate = torch.empty_like(gate) if for_gate else None
        grad_up = torch.empty_like(up) if for_up else None
        n = gate.numel()
        backward_kernel[(triton.cdiv(n, 1024),)](
            grad, gate, up, grad_gate if for_gate else gate, grad_up if for_up else up, n,
            WIDE=wide(gate), FOR_GATE=for_gate, FOR_UP=for_up, BLOCK=1024)
        return grad_gate, grad_up
